// Package report has what the reports of dump, inspect, check and layers are written with: text that a terminal may have,
// columns, counts and sizes for people, and JSON by the rules of docs/json.md.
//
// It knows no format and no model: what to say, the packages beside it know.
package report
