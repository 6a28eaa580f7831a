module github.com/espalier-ane/espalier

go 1.26.0

require golang.org/x/sys v0.49.0

require google.golang.org/protobuf v1.36.12 // indirect
