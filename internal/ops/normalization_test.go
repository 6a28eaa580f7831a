package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Expected values of layer_norm and l2_norm are those of coremltools' value inference; it has none for the
// others, which are NumPy's in fp64 by the formulas of the documentation.
func TestNormalizations(t *testing.T) {
	x := []float64{1, 2, 3, 5, -1, 0, 4, 4.5, -2, 6, 7, 0.5}
	tests := []struct {
		kind  string
		shape []int
		a     args
		want  []float64
	}{
		{"layer_norm", dims(2, 3, 2), args{},
			[]float64{-0.54620707, -0.182069018, 0.182069018, 0.910345078, -1.27448308, -0.910345078, 0.54620707, 0.728276074, -1.63862121, 1.27448308, 1.63862121, -0.728276074}},
		{"layer_norm", dims(2, 3, 2), args{"axes": []int{-1}, "gamma": []float64{2, 3}, "beta": []float64{0.5, -1}, "epsilon": 1e-3},
			[]float64{-1.49601209, 1.99401808, -1.49900079, 1.9985013, -1.49601209, 1.99401808, -1.48418939, 1.97628403, -1.49993753, 1.9999063, 2.49990511, -3.9998579}},
		{"layer_norm", dims(2, 3, 2), args{"axes": []int{2, 0}, "gamma": f32(dims(2, 2), 1, 2, 3, 4), "beta": f32(dims(2, 2), 0, 1, 2, 3)},
			[]float64{-1.31055295, -0.223182678, 0, 2.29777074, -0.833359182, -0.0317779779, 4.35899544, 7.54325008, -2.86664009, 6.89331198, 7.11920643, 1.57138431}},
		{"layer_norm", dims(2, 3, 2), args{"axes": []int{1}},
			[]float64{0, -0.162221178, 1.22474265, 1.29776978, -1.22474265, -1.13554847, 0.267261147, 0.358978689, -1.33630574, 1.00514042, 1.06904459, -1.36411917}},
		{"l2_norm", dims(2, 3, 2), args{},
			[]float64{0.0777322054, 0.155464411, 0.233196616, 0.388661027, -0.0777322054, 0, 0.310928822, 0.349794924, -0.155464411, 0.466393232, 0.544125438, 0.0388661027}},
		{"l2_norm", dims(2, 1, 3, 2), args{"epsilon": 0.5},
			[]float64{0.157134831, 0.314269662, 0.471404493, 0.785674155, -0.157134831, 0, 0.356348306, 0.40089184, -0.178174153, 0.534522474, 0.623609543, 0.0445435382}},
		{"batch_norm", dims(2, 3, 2), args{"mean": []float64{1, 0.5, -1}, "variance": []float64{4, 0.25, 1}, "gamma": []float64{1, 2, 3}, "beta": []float64{0, 1, -1}},
			[]float64{0, 0.499999375, 10.9998, 18.99964, -1, 1.999985, 1.49999813, 1.74999781, -8.99980001, 22.99956, 22.99988, 3.4999775}},
		{"batch_norm", dims(2, 3, 1, 2), args{"mean": []float64{1, 0.5, -1}, "variance": []float64{4, 0.25, 1}, "epsilon": 0.5},
			[]float64{0, 0.471404521, 2.88675135, 5.19615242, 0, 0.816496581, 1.41421356, 1.64991582, -2.88675135, 6.35085296, 6.53197265, 1.22474487}},
		{"instance_norm", dims(2, 3, 2), args{},
			[]float64{-0.999980001, 0.999980001, -0.999995, 0.999995, -0.999980001, 0.999980001, -0.99992001, 0.99992001, -0.999999688, 0.999999688, 0.999999527, -0.999999527}},
		{"instance_norm", dims(2, 3, 2, 1), args{"gamma": []float64{1, 2, 3}, "beta": []float64{0, 1, -1}, "epsilon": 0.1},
			[]float64{-0.845154255, 0.845154255, -0.906925178, 2.90692518, -3.53546276, 1.53546276, -0.620173673, 0.620173673, -0.993779145, 2.99377915, 1.98589886, -3.98589886}},
		{"local_response_norm", dims(2, 3, 2), args{"size": 3},
			[]float64{0.999750073, 1.99855123, 2.99917526, 4.99637806, -0.999750073, 0, 3.99800117, 4.49368224, -1.99655693, 5.99153894, 6.99073931, 0.499547354}},
		{"local_response_norm", dims(2, 3, 2, 1), args{"size": 2, "alpha": 0.5, "beta": 0.25, "k": 2.0},
			[]float64{0.816496581, 1.51967137, 2.05976714, 2.86704541, -0.686589048, 0, 2.55577242, 2.76040559, -1.22957631, 2.99707744, 3.54226118, 0.274161636}},
		{"local_response_norm", dims(2, 3, 2), args{"size": 9, "alpha": 0.5, "beta": 1.0, "k": 2.0},
			[]float64{0.382978723, 0.553846154, 1.14893617, 1.38461538, -0.382978723, 0, 0.685714286, 0.875675676, -0.342857143, 1.16756757, 1.2, 0.0972972973}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			tt.a["x"] = f32(tt.shape, x...)
			got := evalOp(t, IOS15, tt.kind, tt.a)
			wantShape(t, got[0], tt.shape...)
			wantFloats(t, got[0], 1e-6, tt.want...)
			// From iOS17 on fp32 parameters may go with an fp16 x.
			tt.a["x"] = f16(tt.shape, x...)
			wantFloats(t, evalOp(t, IOS17, tt.kind, tt.a)[0], 1e-3, tt.want...)
		})
	}
}

func TestNormalizationsOfNothing(t *testing.T) {
	none := f32(dims(2, 3, 0))
	for kind, a := range map[string]args{
		"layer_norm":          {"axes": []int{-1}},
		"l2_norm":             {},
		"batch_norm":          {"mean": []float64{0, 0, 0}, "variance": []float64{1, 1, 1}},
		"instance_norm":       {},
		"local_response_norm": {"size": 2},
	} {
		a["x"] = none
		wantShape(t, evalOp(t, IOS15, kind, a)[0], 2, 3, 0)
	}
}

func TestNormalizationErrors(t *testing.T) {
	x := f32(dims(2, 3, 4))
	wantErr(t, IOS15, "layer_norm", args{"x": x, "axes": []int{3}}, "axes is 3")
	wantErr(t, IOS15, "layer_norm", args{"x": x, "axes": []int{1, 1}}, "twice")
	wantErr(t, IOS15, "layer_norm", args{"x": x, "axes": []int{1}, "gamma": []float64{1}}, "gamma is tensor<fp32, [1]>, expected tensor<fp32, [3]>")
	wantErr(t, IOS15, "layer_norm", args{"x": x, "epsilon": []float64{1, 2}}, "epsilon is tensor<fp32, [2]>, expected a scalar")
	wantErr(t, IOS15, "l2_norm", args{"x": f32(dims(2, 3))}, "expected rank 3 or more")
	wantErr(t, IOS15, "batch_norm", args{"x": x, "mean": []float64{0, 0, 0}}, "variance is missing")
	wantErr(t, IOS15, "batch_norm", args{"x": x, "mean": []float64{0, 0}, "variance": []float64{1, 1, 1}}, "mean is tensor<fp32, [2]>", "[3]")
	wantErr(t, IOS15, "batch_norm", args{"x": f16(dims(2, 3)), "mean": fixed(f32(dims(3))), "variance": fixed(f32(dims(3)))}, "element type of x")
	wantErr(t, IOS17, "batch_norm", args{"x": f16(dims(2, 3)), "mean": fixed(f32(dims(3))), "variance": fixed(f16(dims(3)))}, "element type of mean")
	wantErr(t, IOS15, "instance_norm", args{"x": x, "beta": floats(tensor.Float32, dims(4), nil)}, "beta is tensor<fp32, [4]>")
	wantErr(t, IOS15, "local_response_norm", args{"x": x, "size": 0}, "size is 0, expected 1 or more")
	wantErr(t, IOS15, "local_response_norm", args{"x": f32(dims(2)), "size": 1}, "channels on axis 1")
}
