package pump

import (
	"crypto/tls"
	"net"
)

// encryption is what the TCP listener uses; nil without TLS.
var encryption *tls.Config

// encrypt sets up TLS. Clients need a certificate.
func encrypt(config *tls.Config) {
	encryption = config.Clone()
	encryption.ClientCAs, encryption.ClientAuth = config.RootCAs, tls.RequireAndVerifyClientCert
}

func listenTCP(address string) (net.Listener, error) {
	listener, err := listen("tcp", address)
	if err != nil || encryption == nil {
		return listener, err
	}
	return tls.NewListener(listener, encryption), nil
}
