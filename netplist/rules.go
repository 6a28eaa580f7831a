package netplist

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A rule is what a list has otherwise than the field.
type rule struct {
	need  bool // the parser wants the key
	write bool // it is written even if it has its default
	bits  bool // a float is the bits of an fp16
	usual any  // the value that a list means where it says nothing, if not that of NewParams
}

// rules are by kind and field.
var rules = map[string]rule{
	"Conv.Kernel":                      {write: true},
	"Conv.Stride":                      {write: true},
	"Pooling.Type":                     {need: true},
	"Pooling.Kernel":                   {write: true},
	"Pooling.Stride":                   {write: true},
	"ArgMinMax.Mode":                   {need: true},
	"ArgMinMax.Kernel":                 {write: true},
	"GlobalArgMinMax.Axis":             {need: true},
	"Concat.Axis":                      {write: true, usual: td.AxisC},
	"ScaledElementWise.Type":           {need: true},
	"ScaledElementWise.Scale":          {write: true, bits: true},
	"ElementWise.Type":                 {need: true},
	"GOC.Scale":                        {bits: true}, // see goc.go
	"GOC.Bias":                         {bits: true},
	"Broadcast.Dims":                   {need: true},
	"Reduction.Type":                   {need: true},
	"Reduction.Axes":                   {need: true},
	"Softmax.Axes":                     {need: true},
	"InstanceNormalization.Axes":       {need: true},
	"LayerNormalization.Axes":          {need: true},
	"L2Normalization.Axes":             {need: true},
	"MinMaxNormalization.Axes":         {need: true},
	"LocalResponseNormalization.Alpha": {write: true, bits: true},
	"LocalResponseNormalization.Beta":  {write: true},
	"LocalResponseNormalization.K":     {write: true},
	"LocalResponseNormalization.Size":  {need: true},
	"Reshape.Dims":                     {write: true, usual: anec.Dims{1, 1, 1, 1, 1}},
	"Transpose.Perm":                   {need: true},
	"InputView.Axis":                   {need: true},
	"InputView.Offset":                 {write: true},
	"InputView.Size":                   {need: true},
	"Sort.Axis":                        {need: true},
	"TopK.Axis":                        {need: true},
	"TopK.K":                           {need: true},
	"Gather.Axes":                      {need: true},
	"DynamicSlice.Axes":                {need: true},
	"DynamicSlice.Sizes":               {need: true},
	"DynamicSlice.Coordinate":          {write: true},
	"DynamicSlice.Padding":             {write: true},
	"CrossCorrelation.Template":        {need: true},
	"KernelRasterizer.Kernel":          {need: true},
	"FurthestPointSampling.Count":      {need: true},
	"RadiusSearch.Radius":              {need: true},
	"CostVolume.Range":                 {need: true},
	"CostVolume.Direction":             {write: true},
	"MatrixDecomposition.Type":         {need: true},
	"SDPA.SubtractMax":                 {write: true},
	"Flatten.Order":                    {write: true},
	"Dropout.Rate":                     {write: true},
	"MinMaxNormalization.Epsilon":      {write: true, bits: true},
	"InstanceNormalization.Epsilon":    {bits: true},
	"LayerNormalization.Epsilon":       {bits: true},
	"MatrixDecomposition.Epsilon":      {bits: true},
	"BatchNorm.Epsilon":                {bits: true},
}

// keys are those of fields that have no tag.
var keys = map[string]string{"Transpose.Perm": "TransposeDimensions"}

// fixed are keys that are no fields, with the values under which they say nothing more. With others the unit is another one, of which
// no source says enough.
var fixed = map[string]map[string][]any{
	"LocalResponseNormalization": {"Type": {"Channel"}, "KernelWidth": {int64(1)}, "KernelHeight": {int64(1)}, "KernelDepth": {int64(1)}},
	"KernelRasterizer":           {"RasterizerMode": {"UnfoldedChannels"}},
	"CostVolume":                 {"ScaleFactorX": {int64(1), 1.0}, "ScaleFactorY": {int64(1), 1.0}},
	"CrossProduct":               {"Type": {"CrossProduct"}},
	"DynamicGOC":                 {"Type": {"TERNARY_DYNAMIC_GOC"}},
	"DynamicSlice":               {"CoordinateMode": {"NonNormalized"}},
	"Flatten":                    {"Mode": {"NCHW", "NHWC"}},
	"GOC":                        {"BiasShift": {false, int64(0)}, "ScaleShift": {false, int64(0)}},
	"Conv":                       {"KernelGroupReuse": {false, true}, "KernelMutable": {false}},
	"Linear":                     {"KernelMutable": {false}},
	"Dropout":                    {},
}
