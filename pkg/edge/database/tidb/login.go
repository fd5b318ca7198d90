package tidb

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// Login says as whom a client connects to a TiDB server.
type Login struct {
	Addr                     string // host and port
	User, Password, Database string
	Dial                     func(ctx context.Context, network, addr string) (net.Conn, error)
	TLS                      *tls.Config // nil for connections without TLS
}

// Open returns a connection on which several statements can be sent at once. It connects with its
// first use.
func (l Login) Open() (*sql.DB, error) {
	config := l.config()
	config.Passwd, config.DBName = l.Password, l.Database
	config.MultiStatements = true
	return l.open(config)
}

// config returns what all logins have in common. The library's own log would be between the lines
// of a result.
func (l Login) config() *mysql.Config {
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.TLS = l.User, "tcp", l.Addr, l.TLS
	config.DialFunc = l.Dial
	config.Timeout = sqlTimeout
	config.Logger = &mysql.NopLogger{}
	return config
}

func (l Login) open(config *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("connect to TiDB %s as %s: %w", l.Addr, l.User, err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// Denied reports whether a server refuses a login as such: a wrong password, the same without one, a
// locked account.
func Denied(err error) bool {
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(denials, refused.Number)
}
