package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/catalog"
	"github.com/reprise-ml/reprise/internal/config"
	detect "github.com/reprise-ml/reprise/tasks/detect/objective"
	obb "github.com/reprise-ml/reprise/tasks/obb/objective"
	pose "github.com/reprise-ml/reprise/tasks/pose/objective"
	segment "github.com/reprise-ml/reprise/tasks/segment/objective"
	yolo26 "github.com/reprise-ml/reprise/tasks/yolo26/objective"
)

// Guard G7 and field case YO-22: each task takes a constructor of its own
// objective, which gets the options of the settings, and of no other's.
func TestConstructorsOfTheTasks(t *testing.T) {
	const mine = 0.125
	given := map[string]float64{}
	constructors := map[string]any{
		"detect": func(o detect.Options) (*detect.Objective, error) {
			given["detect"] = o.Gains.Class
			objective, err := detect.New(o)
			objective.Box = func(predicted, target yolo26.Box) (float64, [4]float64) { return 0, [4]float64{} }
			return objective, err
		},
		"obb": func(o obb.Options) (*obb.Objective, error) {
			given["obb"] = o.Gains.Class
			objective, err := obb.New(o)
			objective.Angle = yolo26.RotatedL1Term
			return objective, err
		},
		"pose": func(o pose.Options) (*pose.Objective, error) {
			given["pose"] = o.Gains.Class
			objective, err := pose.New(o)
			objective.Similarity = func([]pose.Instance) (float64, [][][2]float64) { return 0, nil }
			return objective, err
		},
		"segment": func(o segment.Options) (*segment.Objective, error) {
			given["segment"] = o.Gains.Class
			objective, err := segment.New(o)
			objective.Mask = func(_, _, _ []float64) float64 { return 0 }
			return objective, err
		},
	}
	for task, part := range map[string]string{"detect": "box", "obb": "angle term", "pose": "similarity", "segment": "mask"} {
		s := settings(t, task, func(s *config.Settings) { s.Loss.ClsGain = mine })
		for maker, constructor := range constructors {
			made, err := catalog.TaskWith[float64](s, nil, catalog.ConstructedBy(constructor))
			if maker != task {
				require.EqualError(t, err, "the objective is one of task "+maker+" and the network is of task "+task+"; make it with tasks/"+task+"/objective")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, mine, given[task])
			name, replaced := made.Objective.Replaced()
			require.True(t, replaced)
			require.Contains(t, name, part)
		}
		_, err := catalog.TaskWith[float64](s, nil, catalog.ConstructedBy(7))
		require.EqualError(t, err, "the objective is made by int, which makes none of a task; give a function with the type of New of tasks/"+task+"/objective")
	}
}
