// Package task explains the tasks of a hardware container: what each computes in a sentence, its words and named fields, the
// weights that it loads and its activation table.
//
//	tasks, err := task.Explain(file)
//	for _, t := range tasks {
//		fmt.Println(t.Index, t.What)
//	}
//
// The registers of a version and the names of their values are td's. This package knows how people read them.
package task
