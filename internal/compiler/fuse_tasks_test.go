package compiler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/mil"
)

// What users expect to be one task is one, all the way from the model.
func TestOneTask(t *testing.T) {
	const conv = `tensor<fp16, [4, 4, 3, 3]> w = const()[val = tensor<fp16, [4, 4, 3, 3]>(` + "ZEROS144" + `)];
    tensor<int32, [2]> ones = const()[val = tensor<int32, [2]>([1, 1])];
    tensor<int32, [4]> pad = const()[val = tensor<int32, [4]>([1, 1, 1, 1])];
    string mode = const()[val = string("custom")];
    int32 groups = const()[val = int32(1)];
    tensor<fp16, [1, 4, 8, 8]> c = conv(x = x, weight = w, strides = ones, pad_type = mode, pad = pad, dilations = ones, groups = groups)[name = string("c")];`
	const perChannel = `tensor<fp16, [4]> k%[1]s = const()[val = tensor<fp16, [4]>([1, 2, 3, 4])];`
	for name, body := range map[string]string{
		"conv+bias+relu": conv + `
    tensor<fp16, [1, 4, 1, 1]> b = const()[val = tensor<fp16, [1, 4, 1, 1]>([1, 2, 3, 4])];
    tensor<fp16, [1, 4, 8, 8]> a = add(x = c, y = b)[name = string("a")];
    tensor<fp16, [1, 4, 8, 8]> y = relu(x = a)[name = string("y")];`,
		"conv+bn+relu6": conv + fmt.Sprintf(perChannel, "mean") + fmt.Sprintf(perChannel, "variance") + fmt.Sprintf(perChannel, "gamma") + fmt.Sprintf(perChannel, "beta") + `
    tensor<fp16, [1, 4, 8, 8]> n = batch_norm(x = c, mean = kmean, variance = kvariance, gamma = kgamma, beta = kbeta)[name = string("n")];
    tensor<fp16, [1, 4, 8, 8]> y = relu6(x = n)[name = string("y")];`,
		"conv+add+relu": conv + `
    tensor<fp16, [1, 4, 8, 8]> a = add(x = x, y = c)[name = string("a")];
    tensor<fp16, [1, 4, 8, 8]> y = relu(x = a)[name = string("y")];`,
		"matmul+bias+gelu": `tensor<fp16, [8, 8]> w = const()[val = tensor<fp16, [8, 8]>(ZEROS64)];
    tensor<fp16, [8]> b = const()[val = tensor<fp16, [8]>([1, 2, 3, 4, 5, 6, 7, 8])];
    bool no = const()[val = bool(false)];
    string mode = const()[val = string("EXACT")];
    tensor<fp16, [1, 4, 8, 8]> m = matmul(x = x, y = w, transpose_x = no, transpose_y = no)[name = string("m")];
    tensor<fp16, [1, 4, 8, 8]> a = add(x = m, y = b)[name = string("a")];
    tensor<fp16, [1, 4, 8, 8]> y = gelu(x = a, mode = mode)[name = string("y")];`,
		"six elementwise": `fp16 two = const()[val = fp16(2)];
    tensor<fp16, [1, 4, 8, 8]> a = mul(x = x, y = two)[name = string("a")];
    tensor<fp16, [1, 4, 8, 8]> b = tanh(x = a)[name = string("b")];
    tensor<fp16, [1, 4, 8, 8]> c = sub(x = two, y = b)[name = string("c")];
    tensor<fp16, [1, 4, 8, 8]> d = maximum(x = c, y = x)[name = string("d")];
    tensor<fp16, [1, 4, 8, 8]> e = sigmoid(x = d)[name = string("e")];
    tensor<fp16, [1, 4, 8, 8]> y = mul(x = d, y = e)[name = string("y")];`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{144, 64} {
				zeros := "[" + strings.Repeat("0, ", n-1) + "0]"
				body = strings.ReplaceAll(body, fmt.Sprint("ZEROS", n), zeros)
			}
			text := "program(1.3)\n{\n  func main<ios18>(tensor<fp16, [1, 4, 8, 8]> x) {\n    " + body + "\n  } -> (y);\n}\n"
			p, err := mil.ParseText(name, []byte(text), nil)
			if err != nil {
				t.Fatal(err)
			}
			layers := ""
			job := &Job{Target: virtual(t), Program: p, Functions: []Entry{{Function: p.Functions[0]}}}
			job.Trace = func(p *Pass, s *Segment, _ time.Duration) {
				if p.Phase <= Legalize {
					layers = anec.Print(s.Graph)
				}
			}
			r, err := Compile(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			if f := r.Functions[0]; f.Tasks() != 1 || len(f.Segments) != 1 {
				t.Errorf("%d tasks in %d segments, want one\n%s", f.Tasks(), len(f.Segments), layers)
			}
		})
	}
}
