package ops

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
)

// What nothing can run is named all at once, wherever it stands.
func TestVerifyNamesAllUnknownOperations(t *testing.T) {
	p, err := mil.ParseText("net.mil", []byte(`program(1.0)
{
    func main<ios15>(tensor<fp32, [2]> x, bool p) {
            tensor<fp32, [2]> a = frobnicate(x = x)[name = string("a")];
            tensor<fp32, [2]> b = relu(x = a)[name = string("b")];
            tensor<fp32, [2]> c = scaled_dot_product_attention(query = b, key = b, value = b)[name = string("c")];
        } -> (c);
    func other<ios15>(tensor<fp32, [2]> x) {
            tensor<fp32, [2]> d = reluu(x = x)[name = string("d")];
        } -> (d);
}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = Verify(p)
	for _, want := range []string{`main: frobnicate "a"`, `main: scaled_dot_product_attention "c"`, "it comes with", `other: reluu "d"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q in it", err, want)
		}
	}
}
