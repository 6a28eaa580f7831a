package driver

import "github.com/espalier-ane/espalier/firmware"

type Conn struct {
	client *Client
	kind   firmware.Client
}
