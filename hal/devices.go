package hal

import "strings"

// A Device line says which chip some devices have: their names, their model
// identifiers, and the numbers of the chip as a part.
type Device struct {
	Chip   string
	Names  []string
	Models []string // as the device tells its model: iPhone17,1
	Parts  []string
	Source string
}

const (
	appleModels = "Apple's public model lists"
	partNumbers = resolver34
)

// devices is the table: names with slashes between them, identifiers and parts
// with spaces. A Mac or an iPad with an M chip has the chip in its name. What no
// list shows is not here.
var devices = []struct{ chip, names, models, parts, source string }{
	{"a11", "iPhone 8/iPhone 8 Plus/iPhone X", "iPhone10,1 iPhone10,2 iPhone10,3 iPhone10,4 iPhone10,5 iPhone10,6", "", appleModels},
	{"a12", "iPhone XR/iPhone XS/iPhone XS Max/iPad mini 5/iPad Air 3/iPad 8", "iPhone11,2 iPhone11,4 iPhone11,6 iPhone11,8 iPad11,1 iPad11,2 iPad11,3 iPad11,4 iPad11,6 iPad11,7", "", appleModels},
	{"a12x", "iPad Pro A12X", "iPad8,1 iPad8,2 iPad8,3 iPad8,4 iPad8,5 iPad8,6 iPad8,7 iPad8,8", "", appleModels},
	{"a12z", "iPad Pro A12Z", "iPad8,9 iPad8,10 iPad8,11 iPad8,12", "", appleModels},
	{"a13", "iPhone 11/iPhone 11 Pro/iPhone 11 Pro Max/iPhone SE 2/iPad 9", "iPhone12,1 iPhone12,3 iPhone12,5 iPhone12,8 iPad12,1 iPad12,2", "", appleModels},
	{"a14", "iPhone 12/iPhone 12 mini/iPhone 12 Pro/iPhone 12 Pro Max/iPad Air 4/iPad 10", "iPhone13,1 iPhone13,2 iPhone13,3 iPhone13,4 iPad13,1 iPad13,2 iPad13,18 iPad13,19", "", appleModels},
	{"a15", "iPhone 13/iPhone 13 mini/iPhone 13 Pro/iPhone 13 Pro Max/iPhone 14/iPhone 14 Plus/iPhone SE 3/iPad mini 6", "iPhone14,2 iPhone14,3 iPhone14,4 iPhone14,5 iPhone14,6 iPhone14,7 iPhone14,8 iPad14,1 iPad14,2", "", appleModels},
	{"a16", "iPhone 14 Pro/iPhone 14 Pro Max/iPhone 15/iPhone 15 Plus/iPad A16", "iPhone15,2 iPhone15,3 iPhone15,4 iPhone15,5 iPad15,7 iPad15,8", "", appleModels},
	{"a17pro", "iPhone 15 Pro/iPhone 15 Pro Max/iPad mini A17 Pro", "iPhone16,1 iPhone16,2 iPad16,1 iPad16,2", "", appleModels + "; " + coreaiH + " for iPhone16,1"},
	{"a18", "iPhone 16/iPhone 16 Plus/iPhone 16e", "iPhone17,3 iPhone17,4 iPhone17,5", "", appleModels},
	{"a18pro", "iPhone 16 Pro/iPhone 16 Pro Max/MacBook Neo", "iPhone17,1 iPhone17,2 Mac17,5", "", appleModels + "; " + coreaiH + " for the iPhones"},
	{"a19", "iPhone 17/iPhone 17e", "iPhone18,3 iPhone18,5", "", appleModels},
	{"a19pro", "iPhone 17 Pro/iPhone 17 Pro Max/iPhone Air", "iPhone18,1 iPhone18,2 iPhone18,4", "", appleModels + "; " + coreaiH + " for iPhone18,1"},
	{"a20pro", "iPhone 18 Pro", "iPhone19,2", "", coreaiH},

	{"m1", "Mac M1/MacBook Air M1/MacBook Pro M1/Mac mini M1/iMac M1/iPad Pro M1/iPad Air M1/iPad Air 5", "MacBookAir10,1 MacBookPro17,1 Macmini9,1 iMac21,1 iMac21,2 iPad13,4 iPad13,5 iPad13,6 iPad13,7 iPad13,8 iPad13,9 iPad13,10 iPad13,11 iPad13,16 iPad13,17", "T8103", appleModels},
	{"m1pro", "Mac M1 Pro/MacBook Pro M1 Pro", "MacBookPro18,1 MacBookPro18,3", "T6000", appleModels},
	{"m1max", "Mac M1 Max/MacBook Pro M1 Max/Mac Studio M1 Max", "MacBookPro18,2 MacBookPro18,4 Mac13,1", "T6001", appleModels},
	{"m1ultra", "Mac M1 Ultra/Mac Studio M1 Ultra", "Mac13,2", "T6002", appleModels},
	{"m2", "Mac M2/MacBook Air M2/MacBook Pro M2/Mac mini M2/iPad Pro M2/iPad Air M2", "Mac14,2 Mac14,15 Mac14,7 Mac14,3 iPad14,3 iPad14,4 iPad14,5 iPad14,6 iPad14,8 iPad14,9 iPad14,10 iPad14,11", "T8112", appleModels},
	{"m2pro", "Mac M2 Pro/MacBook Pro M2 Pro/Mac mini M2 Pro", "Mac14,9 Mac14,10 Mac14,12", "T6020", appleModels},
	{"m2max", "Mac M2 Max/MacBook Pro M2 Max/Mac Studio M2 Max", "Mac14,5 Mac14,6 Mac14,13", "T6021", appleModels},
	{"m2ultra", "Mac M2 Ultra/Mac Studio M2 Ultra/Mac Pro M2 Ultra", "Mac14,14 Mac14,8", "", appleModels},
	{"m3", "Mac M3/MacBook Air M3/MacBook Pro M3/iMac M3/iPad Air M3", "Mac15,12 Mac15,13 Mac15,3 Mac15,4 Mac15,5 iPad15,3 iPad15,4 iPad15,5 iPad15,6", "T8122", appleModels},
	{"m3pro", "Mac M3 Pro/MacBook Pro M3 Pro", "Mac15,6 Mac15,7", "T6030", appleModels},
	{"m3max", "Mac M3 Max/MacBook Pro M3 Max", "Mac15,8 Mac15,9 Mac15,10 Mac15,11", "T6031", appleModels},
	{"m3ultra", "Mac M3 Ultra/Mac Studio M3 Ultra", "Mac15,14", "", appleModels},
	{"m4", "Mac M4/MacBook Air M4/MacBook Pro M4/Mac mini M4/iMac M4/iPad Pro M4/iPad Air M4", "Mac16,1 Mac16,2 Mac16,3 Mac16,10 Mac16,12 Mac16,13 iPad16,3 iPad16,4 iPad16,5 iPad16,6 iPad16,8 iPad16,9 iPad16,10 iPad16,11", "T8132", appleModels + "; " + coreaiH + " for Mac16,10"},
	{"m4pro", "Mac M4 Pro/MacBook Pro M4 Pro/Mac mini M4 Pro", "Mac16,7 Mac16,8 Mac16,11", "T6040", appleModels},
	{"m4max", "Mac M4 Max/MacBook Pro M4 Max/Mac Studio M4 Max", "Mac16,5 Mac16,6 Mac16,9", "T6041", appleModels + "; " + coreaiH + " for Mac16,5 and Mac16,9"},
	{"m5", "Mac M5/MacBook Air M5/MacBook Pro M5/iPad Pro M5", "Mac17,2 Mac17,3 Mac17,4 iPad17,1 iPad17,2 iPad17,3 iPad17,4", "T8142", appleModels},
	{"m5pro", "Mac M5 Pro/MacBook Pro M5 Pro", "Mac17,8 Mac17,9", "T6050", appleModels},
	{"m5max", "Mac M5 Max/MacBook Pro M5 Max/Mac Studio M5 Max", "Mac17,6 Mac17,7 Mac17,14", "", appleModels + "; " + coreaiH + " for Mac17,6 and Mac17,14"},
	{"m5ultra", "Mac M5 Ultra/Mac Studio M5 Ultra", "", "", "Apple's announcement"},
	{"m6", "Mac M6/Mac mini M6", "Mac18,5", "T8152", coreaiH + "; " + appleModels},
}

// Devices returns the table, in the order of the chips' numbers.
func Devices() []Device {
	all := make([]Device, len(devices))
	for i, d := range devices {
		all[i] = Device{d.chip, fieldsBy(d.names, "/"), strings.Fields(d.models), strings.Fields(d.parts), d.source}
	}
	return all
}

func fieldsBy(list, separator string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, separator)
}

// deviceAliases are the names of devices, models and parts, with the readings of
// their chips.
func deviceAliases() (all []Alias) {
	for _, d := range Devices() {
		chip := chipNamed(d.Chip)
		add := func(kind AliasKind, source string, names []string) {
			for _, name := range names {
				a := Alias{Name: name, Kind: kind}
				for _, r := range chip.Readings {
					a.Readings = append(a.Readings, Reading{r.Target, r.Status, spelled(d.Chip) + " by " + source + "; " + r.Source})
				}
				all = append(all, a)
			}
		}
		add(ProductName, d.Source, d.Names)
		add(ModelIdentifier, d.Source, d.Models)
		source := partNumbers
		if d.Chip == "m6" {
			source = coreaiH
		}
		add(PartNumber, source, d.Parts)
	}
	return all
}

func chipNamed(name string) *Alias {
	for i := range chips {
		if chips[i].Name == name {
			return &chips[i]
		}
	}
	panic("bug: no chip is called " + name)
}
