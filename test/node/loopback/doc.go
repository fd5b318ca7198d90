// Package loopback tests programs of the node's images without a node: as processes that listen on 127.0.0.1.
package loopback
