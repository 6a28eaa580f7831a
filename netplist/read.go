package netplist

import (
	"bytes"
	"encoding/json"
	"fmt"

	"howett.net/plist"
)

// Is reports whether data looks like a network description: a property list that speaks of networks. Whether it is a good one is for
// Read to say, which has the reason.
func Is(data []byte) bool {
	if !bytes.HasPrefix(data, binaryMagic) && !(isXML(data) && bytes.Contains(data[:min(len(data), 1<<16)], []byte("<plist"))) {
		return false
	}
	return bytes.Contains(data, []byte("Networks")) || bytes.Contains(data, []byte("ProcedureList"))
}

// Read parses a network description. It opens no weights.
func Read(data []byte) (*File, error) {
	if name := espresso(data); name != "" {
		return nil, errorf(InvalidNetworkSourceFileName, "%s, a network of the Espresso framework, whose layers are not the engine's units; "+
			"a network description is a property list, which Apple's tools call net.plist", name)
	}
	root, err := decode(data)
	if err != nil {
		return nil, err
	}
	f, err := readFile(root)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadDict parses a property list of any kind whose root is a dictionary, held to the same limits as a network description.
func ReadDict(data []byte) (Dict, error) {
	root, err := decode(data)
	if err != nil {
		return nil, err
	}
	return root, nil
}

// espresso names the other forms that a file model.espresso.net is known to have.
func espresso(data []byte) string {
	if bytes.HasPrefix(data, []byte("pbze")) {
		return "compressed (pbze)"
	}
	if head := bytes.TrimLeft(data, " \t\r\n"); bytes.HasPrefix(head, []byte("{")) && len(data) <= maxSize {
		var net struct {
			Layers []json.RawMessage `json:"layers"`
		}
		if json.Unmarshal(head, &net) == nil && net.Layers != nil {
			return "JSON"
		}
	}
	return ""
}

// decode parses a property list whose root is a dictionary.
func decode(data []byte) (root Dict, err *Error) {
	if err := scan(data); err != nil {
		return nil, err
	}
	defer func() { // the library reads past the end of some damaged lists
		if r := recover(); r != nil {
			root, err = nil, errorf(InvalidNetworkSourceFileName, "a damaged property list: %v", r)
		}
	}()
	var v any
	format, failed := plist.Unmarshal(data, &v)
	if failed != nil {
		e := errorf(InvalidNetworkSourceFileName, "")
		e.Err = failed
		return nil, e
	}
	if format != plist.XMLFormat && format != plist.BinaryFormat {
		return nil, errorf(InvalidNetworkSourceFileName, "neither an XML nor a binary property list")
	}
	v, failed = normal(v)
	if failed != nil {
		e := errorf(InvalidNetworkSourceFileName, "")
		e.Err = failed
		return nil, e
	}
	root, ok := v.(Dict)
	if !ok {
		return nil, errorf(InvalidNetworkSourceFileName, "the root is %s, want a dictionary", describe(v))
	}
	return root, nil
}

func readFile(root Dict) (*File, *Error) {
	f := &File{}
	t := take(root)
	var names []string
	t.key("Version", into(&f.Version, asString))
	t.key("Networks", into(&names, asStrings))
	t.key("ProcedureList", func(v any) *Error {
		list, err := asList(v)
		if err != nil {
			return err
		}
		for _, x := range list {
			d, err := asDict(x)
			if err != nil {
				return err
			}
			e, err := readEntry(d)
			if err != nil {
				return err
			}
			f.ProcedureList = append(f.ProcedureList, e)
		}
		return nil
	})
	if t.err != nil {
		return nil, t.err
	}
	if len(names) == 0 {
		return nil, errorf(InvalidNetworkSourceFileName, "no Networks")
	}
	for _, name := range names { // a name that stands twice is not found again
		d, err := entryOf(t, name)
		if err != nil {
			return nil, err.at(name, "", "Networks")
		}
		n, err := readNetwork(name, d)
		if err != nil {
			return nil, err.at(name, "", "")
		}
		f.Networks = append(f.Networks, n)
	}
	f.Extra = t.rest()
	return f, nil
}

// entryOf takes the dictionary that a list names.
func entryOf(t *taker, name string) (Dict, *Error) {
	v, ok := t.left[name]
	if !ok {
		if t.listed[name] {
			return nil, errorf(InvalidUnit, "%q is listed twice: a name is that of one thing", name)
		}
		return nil, errorf(InvalidUnit, "%q is listed and not described", name)
	}
	t.listed[name] = true
	delete(t.left, name)
	d, err := asDict(v)
	if err != nil {
		err.Code = InvalidUnit
	}
	return d, err
}

func readNetwork(name string, d Dict) (*Network, *Error) {
	n := &Network{Name: name}
	t := take(d)
	lists := map[string][]string{}
	for _, list := range []string{"Inputs", "States", "Outputs", "Constants", "Units", "Weights", "MutableWeights"} {
		t.key(list, func(v any) *Error {
			words, err := asStrings(v)
			lists[list] = words
			return err
		})
	}
	if t.err != nil {
		return nil, t.err
	}
	n.Weights, n.MutableWeights = lists["Weights"], lists["MutableWeights"]
	each := func(list string, read func(symbol string, d Dict) *Error) *Error {
		for _, symbol := range lists[list] {
			d, err := entryOf(t, symbol)
			if err == nil {
				err = read(symbol, d)
			}
			if err != nil {
				return err.at(name, symbol, list)
			}
		}
		return nil
	}
	ports := func(to *[]*Port, prefix string) func(string, Dict) *Error {
		return func(symbol string, d Dict) *Error {
			p, err := readPort(symbol, prefix, d)
			*to = append(*to, p)
			return err
		}
	}
	for _, step := range []struct {
		list string
		read func(string, Dict) *Error
	}{
		{"Inputs", ports(&n.Inputs, "Input")}, {"States", ports(&n.States, "Input")}, {"Outputs", ports(&n.Outputs, "Output")},
		{"Constants", func(symbol string, d Dict) *Error {
			c, err := readConstant(symbol, d)
			n.Constants = append(n.Constants, c)
			return err
		}},
		{"Units", func(symbol string, d Dict) *Error {
			u, err := readUnit(symbol, d)
			n.Units = append(n.Units, u)
			return err
		}},
	} {
		if err := each(step.list, step.read); err != nil {
			return nil, err
		}
	}
	for _, symbol := range t.left.keys() {
		d, ok := t.left[symbol].(Dict)
		if !ok || d["Bottom"] == nil || d["Type"] != nil {
			continue
		}
		p, err := readPort(symbol, "Output", d)
		if err != nil {
			return nil, err.at(name, symbol, "")
		}
		p.Unlisted = true
		n.Outputs = append(n.Outputs, p)
		delete(t.left, symbol)
	}
	n.Extra = t.rest()
	return n, nil
}

func (t *taker) numbers(list []number) {
	for _, n := range list {
		t.key(n.key, into(n.at, asInt))
	}
}

func readPort(symbol, prefix string, d Dict) (*Port, *Error) {
	p := &Port{Symbol: symbol}
	t := take(d)
	t.numbers(p.numbers(prefix))
	t.key(prefix+"Type", into(&p.Type, asString))
	t.key(prefix+"Name", into(&p.Symbol, asString))
	t.key("Bottom", into(&p.Bottom, asString))
	t.key("Name", into(&p.Unit, asString))
	t.key("OperationName", into(&p.Operation, asString))
	switch {
	case t.err != nil:
		return nil, t.err
	case p.Symbol == "":
		return nil, errorf(InvalidUnit, "a port without a name").at("", "", prefix+"Name")
	case symbol != "" && p.Symbol != symbol:
		return nil, errorf(InvalidUnit, "the port is called %q here and %q where it is listed", p.Symbol, symbol).at("", "", prefix+"Name")
	}
	p.Extra = t.rest()
	return p, nil
}

func readConstant(symbol string, d Dict) (*Constant, *Error) {
	c := &Constant{Name: symbol}
	t := take(d)
	t.numbers(c.numbers())
	t.key("ConstantType", into(&c.Type, asString))
	t.key("ConstantName", into(&c.Name, asString))
	if t.err == nil && c.Name != symbol {
		return nil, errorf(InvalidUnit, "the constant is called %q here and %q where it is listed", c.Name, symbol).at("", "", "ConstantName")
	}
	c.Extra = t.rest()
	return c, t.err
}

func readUnit(symbol string, d Dict) (*Unit, *Error) {
	u := &Unit{Name: symbol}
	t := take(d)
	t.key("Name", into(&u.Name, asString))
	t.key("Type", into(&u.Type, asString))
	t.key("Bottom", into(&u.Bottom, asStrings))
	t.key("InputType", into(&u.InputType, asStrings))
	t.key("OutputType", into(&u.OutputType, asString))
	t.key("Params", into(&u.Params, asDict))
	t.numbers(u.numbers())
	if t.err == nil && u.Name != symbol {
		return nil, errorf(InvalidUnit, "the unit is called %q here and %q where it is listed", u.Name, symbol).at("", "", "Name")
	}
	u.Extra = t.rest()
	return u, t.err
}

func (u *Unit) numbers() []number {
	return []number{{"OutputChannels", &u.OutputChannels}, {"NumGroups", &u.NumGroups}}
}

func readEntry(d Dict) (*Entry, *Error) {
	e := &Entry{}
	t := take(d)
	t.key("Name", into(&e.Name, asString))
	each := func(key string, read func(Dict) *Error) {
		t.key(key, func(v any) *Error {
			list, err := asList(v)
			for i := 0; err == nil && i < len(list); i++ {
				var d Dict
				if d, err = asDict(list[i]); err == nil {
					err = read(d)
				}
			}
			return err
		})
	}
	ports := func(key, prefix string, to *[]*Port) {
		each(key, func(d Dict) *Error {
			p, err := readPort("", prefix, d)
			*to = append(*to, p)
			return err
		})
	}
	ports("InputList", "Input", &e.Inputs)
	ports("OutputList", "Output", &e.Outputs)
	each("OperationList", func(d Dict) *Error {
		t, o := take(d), Operation{}
		t.key("OperationName", into(&o.Name, asString))
		t.key("NetworkName", into(&o.Network, asString))
		o.Extra = t.rest()
		e.Operations = append(e.Operations, o)
		return t.err
	})
	if t.err != nil {
		return nil, t.err.at("", fmt.Sprintf("procedure %s", e.Name), "")
	}
	e.Extra = t.rest()
	return e, nil
}
