module github.com/espalier-ane/espalier

go 1.26.0

require golang.org/x/sys v0.49.0

require (
	github.com/alecthomas/kong v1.16.1 // indirect
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/image v0.47.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
