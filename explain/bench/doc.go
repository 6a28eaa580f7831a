// Package bench measures how fast a model runs, and says where the time goes.
//
//	var p espalier.Profile
//	out, err := f.Predict(p.Watch(ctx), inputs)
//	spent := bench.NewProfile(f, &p, 1, took)
//	spent.WriteText(os.Stdout, 10)
package bench
