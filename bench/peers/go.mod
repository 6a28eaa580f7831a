module github.com/espalier-ane/espalier/bench/peers

go 1.26.0

replace github.com/espalier-ane/espalier => ../..

require (
	github.com/ebitengine/purego v0.11.2
	github.com/espalier-ane/espalier v0.0.0-00010101000000-000000000000
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	github.com/klauspost/cpuid/v2 v2.4.1 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	howett.net/plist v1.0.1 // indirect
)
