package ops

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var nmsOps = []Def{{
	Name:     "non_maximum_suppression",
	Doc:      "the boxes with the highest scores, without those that overlap a better one",
	HostOnly: "no task suppresses boxes: which ones are left depends on the data, one after the other",
	Versions: []Version{
		{
			Since: IOS15, Infer: inferNMS15, Eval: evalNMS15,
			Params: []Param{
				In("boxes", Float).As("T"), In("scores", Float).As("T"), Const("iou_threshold", Float).As("T"),
				Const("score_threshold", Float).As("T"), Const("max_boxes", I32), OptConst("per_class_suppression", B, false),
			},
		},
		{
			Since: IOS17, Infer: inferNMS17, Eval: evalNMS17,
			Params: []Param{
				In("boxes", Float).As("T"), In("scores", Float).As("T"), Const("iou_threshold", Float).As("T"),
				Const("max_boxes", I32), OptConst("per_class_suppression", B, false),
			},
		},
	},
}}

// nmsShape are the lengths that boxes and scores have in common, wherever a version puts them.
type nmsShape struct{ batch, boxes, classes, slots tensor.Dim }

// inferNMS checks boxes and scores, whose axes of boxes, of coordinates and of classes the version chooses.
func inferNMS(c *Call, boxAxis, valueAxis int) (nmsShape, error) {
	boxes, scores := c.Shape("boxes"), c.Shape("scores")
	if len(boxes) != 3 || len(scores) != 3 || boxes[valueAxis].Known() && boxes[valueAxis] != 4 {
		form := map[int]string{1: "[batch, boxes, 4] and [batch, boxes, classes]", 2: "[batch, 4, boxes] and [batch, classes, boxes]"}
		return nmsShape{}, fmt.Errorf("boxes and scores have shapes %v and %v, expected %s", boxes, scores, form[boxAxis])
	}
	s := nmsShape{classes: scores[valueAxis], slots: tensor.Dim(c.Int("max_boxes"))}
	var ok, ok2 bool
	s.batch, ok = meet(boxes[0], scores[0])
	s.boxes, ok2 = meet(boxes[boxAxis], scores[boxAxis])
	switch {
	case !ok || !ok2:
		return s, fmt.Errorf("boxes and scores have shapes %v and %v, expected the same batch and number of boxes", boxes, scores)
	case s.classes == 0:
		return s, fmt.Errorf("scores has shape %v, expected at least one class", scores)
	case s.slots < 0:
		return s, fmt.Errorf("max_boxes is %d, expected no negative number", c.Int("max_boxes"))
	}
	return s, nil
}

func inferNMS15(c *Call) ([]mil.Type, error) {
	s, err := inferNMS(c, 1, 2)
	if err != nil {
		return nil, err
	}
	d := c.DType("boxes")
	return []mil.Type{
		mil.Tensor(d, s.batch, s.slots, 4),
		mil.Tensor(d, s.batch, s.slots, s.classes),
		mil.Tensor(tensor.Int32, s.batch, s.slots),
		mil.Tensor(tensor.Int32, s.batch),
	}, nil
}

func inferNMS17(c *Call) ([]mil.Type, error) {
	s, err := inferNMS(c, 2, 1)
	if err != nil {
		return nil, err
	}
	d := c.DType("boxes")
	return []mil.Type{
		mil.Tensor(d, s.batch, 4, s.slots),
		mil.Tensor(d, s.batch, s.classes, s.slots),
		mil.Tensor(tensor.Int32, s.batch, s.slots),
	}, nil
}

func evalNMS15(c *Call) error {
	threshold := c.Float("score_threshold")
	boxes, scores := c.Tensor("boxes"), c.Tensor("scores")
	outBoxes, outScores, indices, counts := suppress(c, boxes, scores, &threshold)
	c.ReturnFloats(0, outBoxes)
	c.ReturnFloats(1, outScores)
	c.ReturnInts(2, indices)
	c.ReturnInts(3, counts)
	return nil
}

// evalNMS17 does as iOS15 between two transpositions: the boxes are on the last axis.
func evalNMS17(c *Call) error {
	boxes, err := c.Tensor("boxes").Transpose(0, 2, 1)
	if err != nil {
		return err
	}
	scores, err := c.Tensor("scores").Transpose(0, 2, 1)
	if err != nil {
		return err
	}
	outBoxes, outScores, indices, _ := suppress(c, boxes, scores, nil)
	for i, vals := range [][]float32{outBoxes, outScores} {
		shape := c.OutShape(i)
		out, err := tensor.Of(vals, shape[0], shape[2], shape[1]).Transpose(0, 2, 1)
		if err != nil {
			return err
		}
		c.Return(i, out)
	}
	c.ReturnInts(2, indices)
	return nil
}

// suppress selects boxes in each batch and writes them, with their scores and indices, to the slots of the
// results; slots that stay empty have zeros and the index -1. Without a box above the threshold the best one
// is selected all the same: the result is never empty.
func suppress(c *Call, boxes, scores *tensor.Tensor, threshold *float32) (outBoxes, outScores []float32, indices, counts []int64) {
	s := scores.Shape()
	batch, n, classes, slots := s[0], s[1], s[2], c.Int("max_boxes")
	allBoxes, allScores := boxes.Float32s(), scores.Float32s()
	outBoxes, outScores = make([]float32, batch*slots*4), make([]float32, batch*slots*classes)
	indices, counts = make([]int64, batch*slots), make([]int64, batch)
	for i := range indices {
		indices[i] = -1
	}
	for b := range batch {
		candidates := rankBoxes(allBoxes[b*n*4:(b+1)*n*4], allScores[b*n*classes:(b+1)*n*classes], classes)
		selected := selectBoxes(c.halt, candidates, c.Float("iou_threshold"), threshold, slots, c.Bool("per_class_suppression"))
		for k, box := range selected {
			from, to := b*n+box.index, b*slots+k
			copy(outBoxes[to*4:(to+1)*4], allBoxes[from*4:])
			copy(outScores[to*classes:(to+1)*classes], allScores[from*classes:])
			indices[to] = int64(box.index)
		}
		counts[b] = int64(len(selected))
	}
	return outBoxes, outScores, indices, counts
}

// candidate is a box with the best of its scores.
type candidate struct {
	index                    int
	class                    int
	score                    float32
	left, right, top, bottom float32
}

// rankBoxes makes candidates of the boxes of one batch, the best first; of equals, the one that comes first.
func rankBoxes(boxes, scores []float32, classes int) []candidate {
	out := make([]candidate, len(boxes)/4)
	for i := range out {
		x, y, w, h := boxes[4*i], boxes[4*i+1], boxes[4*i+2]/2, boxes[4*i+3]/2
		out[i] = candidate{index: i, left: x - w, right: x + w, top: y - h, bottom: y + h}
		row := scores[i*classes : (i+1)*classes]
		for k, v := range row {
			if v > row[out[i].class] {
				out[i].class = k
			}
		}
		out[i].score = row[out[i].class]
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		switch {
		case a.score > b.score || b.score != b.score && a.score == a.score: // what is not a number comes last
			return -1
		case a.score < b.score || a.score != a.score && b.score == b.score:
			return 1
		}
		return 0
	})
	return out
}

// selectBoxes walks down the candidates and keeps each that overlaps none of those kept before.
func selectBoxes(h *halt, ranked []candidate, iouThreshold float32, scoreThreshold *float32, slots int, perClass bool) []candidate {
	var kept []candidate
	for _, box := range ranked {
		if len(kept) == slots || h.asked() {
			break
		}
		if scoreThreshold != nil && !(box.score >= *scoreThreshold) { // nor do those that follow
			if len(kept) == 0 {
				kept = append(kept, box)
			}
			break
		}
		if !slices.ContainsFunc(kept, func(better candidate) bool {
			return !(perClass && better.class != box.class) && boxOverlap(&better, &box) > iouThreshold
		}) {
			kept = append(kept, box)
		}
	}
	return kept
}

// boxOverlap is the area that two boxes share, as a part of the area that they cover together. A box of
// negative size shares nothing and counts with its negative area, as in torchvision.
func boxOverlap(a, b *candidate) float32 {
	areaA := float32((a.right - a.left) * (a.bottom - a.top))
	areaB := float32((b.right - b.left) * (b.bottom - b.top))
	shared := float32(max(0, min(a.right, b.right)-max(a.left, b.left)) * max(0, min(a.bottom, b.bottom)-max(a.top, b.top)))
	return shared / (areaA + areaB - shared)
}
