package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestNonMaximumSuppressionSmoke is coremltools' unit test of iOS14.
func TestNonMaximumSuppressionSmoke(t *testing.T) {
	got := evalOp(t, IOS15, "non_maximum_suppression", args{
		"boxes":  f32(dims(1, 4, 4), 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
		"scores": f32(dims(1, 4, 1), -3.5, 9.4, 2.3, 0.7), "iou_threshold": 0.2, "score_threshold": 0.4, "max_boxes": 2, "per_class_suppression": true,
	})
	wantShape(t, got[0], 1, 2, 4)
	wantFloats(t, got[0], 0, 1, 1, 1, 1, 2, 2, 2, 2)
	wantShape(t, got[1], 1, 2, 1)
	wantFloats(t, got[1], 1e-6, 9.4, 2.3)
	wantInts(t, got[2], 1, 2)
	wantInts(t, got[3], 2)
}

// TestNonMaximumSuppression is by hand. Boxes 0 and 1 overlap by 9/11, 2 and 3 by 5/7, 4 touches none.
func TestNonMaximumSuppression(t *testing.T) {
	boxes := []float64{5, 5, 4, 2, 5.4, 5, 4, 2, 12, 5, 3, 3, 12, 5.5, 3, 3, 20, 20, 2, 2}
	scores := []float64{0.9, 0.1, 0.3, 0.8, 0.2, 0.7, 0.1, 0.75, 0.5, 0.4}
	for _, tc := range []struct {
		name       string
		iou, score float64
		slots      int
		perClass   bool
		want       []int64
		count      int64
	}{
		{"across classes", 0.5, 0, 5, false, []int64{0, 3, 4, -1, -1}, 3},
		{"within classes", 0.5, 0, 5, true, []int64{0, 1, 3, 4, -1}, 4},
		{"high overlap allowed", 0.9, 0, 5, false, []int64{0, 1, 3, 2, 4}, 5},
		{"a few slots", 0.9, 0, 2, false, []int64{0, 1}, 2},
		{"some scores too low", 0.9, 0.75, 5, false, []int64{0, 1, 3, -1, -1}, 3},
		{"all scores too low", 0.9, 1, 5, false, []int64{0, -1, -1, -1, -1}, 1},
		{"no slots", 0.9, 1, 0, false, []int64{}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := evalOp(t, IOS15, "non_maximum_suppression", args{
				"boxes": f32(dims(1, 5, 4), boxes...), "scores": f32(dims(1, 5, 2), scores...), "iou_threshold": tc.iou,
				"score_threshold": tc.score, "max_boxes": tc.slots, "per_class_suppression": tc.perClass,
			})
			wantInts(t, got[2], tc.want...)
			wantInts(t, got[3], tc.count)
			for i, index := range tc.want {
				for k := range 4 {
					want := 0.0
					if index >= 0 {
						want = boxes[4*index+int64(k)]
					}
					if v := tensorOf(t, got[0]).Float32s()[4*i+k]; v != float32(want) {
						t.Errorf("slot %d has %v at %d, expected %v", i, v, k, want)
					}
				}
			}
		})
	}
}

func TestNonMaximumSuppression17(t *testing.T) {
	// By hand: two images; in the first box 1 hides box 0, in the second nothing is hidden. IoU 0.5 is not above 0.5.
	got := evalOp(t, IOS17, "non_maximum_suppression", args{
		"boxes": f32(dims(2, 4, 2),
			0, 0, 0, 0, 2, 2, 2, 1.5,
			0, 0, 0, 0, 2, 2, 2, 1),
		"scores": f32(dims(2, 1, 2), 1, 2, 3, 4), "iou_threshold": 0.5, "max_boxes": 3,
	})
	wantShape(t, got[0], 2, 4, 3)
	wantFloats(t, got[0], 0,
		0, 0, 0, 0, 0, 0, 2, 0, 0, 1.5, 0, 0,
		0, 0, 0, 0, 0, 0, 2, 2, 0, 1, 2, 0)
	wantShape(t, got[1], 2, 1, 3)
	wantFloats(t, got[1], 0, 2, 0, 0, 4, 3, 0)
	wantInts(t, got[2], 1, -1, -1, 1, 0, -1)
	if len(got) != 3 {
		t.Errorf("%d results, expected 3", len(got))
	}
	// The first case of coremltools' torch test with boxes of negative size: torchvision keeps them all.
	got = evalOp(t, IOS17, "non_maximum_suppression", args{
		"boxes":  f32(dims(1, 4, 5), 2, 2, 2.5, 3, 3, 1, 1, 0.5, 0.5, 0, 2, 4, 1, -2, 2, -2, 2, 1, -1, 0),
		"scores": f32(dims(1, 1, 5), 4, 3, 2, 0, 1), "iou_threshold": 0.2, "max_boxes": 5,
	})
	wantInts(t, got[2], 0, 1, 2, 4, 3)
	got = evalOp(t, IOS17, "non_maximum_suppression", args{
		"boxes": f32(dims(1, 4, 0)), "scores": f32(dims(1, 1, 0)), "iou_threshold": 0.5, "max_boxes": 1,
	})
	wantInts(t, got[2], -1)
}

func TestNonMaximumSuppressionErrors(t *testing.T) {
	scores := f32(dims(1, 3, 2))
	wantErr(t, IOS15, "non_maximum_suppression", args{
		"boxes": f32(dims(1, 4, 3)), "scores": scores, "iou_threshold": 0.5, "score_threshold": 0.0, "max_boxes": 1,
	}, "expected [batch, boxes, 4] and [batch, boxes, classes]")
	wantErr(t, IOS15, "non_maximum_suppression", args{
		"boxes": f32(dims(1, 2, 4)), "scores": scores, "iou_threshold": 0.5, "score_threshold": 0.0, "max_boxes": 1,
	}, "expected the same batch and number of boxes")
	wantErr(t, IOS15, "non_maximum_suppression", args{
		"boxes": f32(dims(1, 3, 4)), "scores": scores, "iou_threshold": 0.5, "score_threshold": 0.0, "max_boxes": -1,
	}, "max_boxes is -1")
	wantErr(t, IOS17, "non_maximum_suppression", args{
		"boxes": f32(dims(1, 4, 3)), "scores": f32(dims(1, 0, 3)), "iou_threshold": 0.5, "max_boxes": 1,
	}, "expected at least one class")
	wantErr(t, IOS17, "non_maximum_suppression", args{
		"boxes": seq(tensor.Float32, 1, 4, 3), "scores": scores, "iou_threshold": 0.5, "score_threshold": 0.5, "max_boxes": 1,
	}, `unknown parameter "score_threshold"`)
}
