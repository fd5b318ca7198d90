package tidb

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ErrPasswordSet means that root has a password, or may not log in for another reason that somebody
// has decided.
var ErrPasswordSet = errors.New("root of TiDB has a password already")

// sqlTimeout bounds each part of a login: a server that does not answer is asked again in a later turn.
const sqlTimeout = 5 * time.Second

// denials are the errors with which a server refuses a login as such, and not because it cannot serve. A password is
// wrong, a password is missing, or the account is locked.
var denials = []uint16{1045, 1698, 3118}

// weak is the error for a password that validate_password does not accept.
const weak = 1819

// Root connects to one TiDB server as root with an empty password, as a new cluster has it.
type Root struct {
	Addr string // host and port
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	TLS  *tls.Config // nil for connections without TLS
}

// Login logs in. It returns ErrPasswordSet where root has a password.
func (r Root) Login(ctx context.Context) error {
	return r.withConnection(ctx, func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) })
}

// SetPassword gives root a password. It returns ErrPasswordSet where root has one, which stays. No
// error contains the password: those of a server may quote the statement, so only their number is used.
func (r Root) SetPassword(ctx context.Context, password string) error {
	return r.withConnection(ctx, func(ctx context.Context, db *sql.DB) error {
		if err := db.PingContext(ctx); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "ALTER USER 'root'@'%' IDENTIFIED BY ?", password)
		var refused *mysql.MySQLError
		switch {
		case !errors.As(err, &refused):
			return err
		case refused.Number == weak:
			return errors.New("validate_password of TiDB does not accept the password")
		}
		return fmt.Errorf("TiDB does not set the password: error %d", refused.Number)
	})
}

func (r Root) withConnection(ctx context.Context, do func(context.Context, *sql.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*sqlTimeout)
	defer cancel()
	login := Login{Addr: r.Addr, User: "root", Dial: r.Dial, TLS: r.TLS}
	config := login.config()
	config.ReadTimeout, config.WriteTimeout = sqlTimeout, sqlTimeout
	// TiDB prepares no ALTER USER: the driver quotes the password itself.
	config.InterpolateParams = true
	db, err := login.open(config)
	if err != nil {
		return err
	}
	defer db.Close()
	err = do(ctx, db)
	switch {
	case err == nil:
		return nil
	case Denied(err):
		return ErrPasswordSet
	}
	return fmt.Errorf("TiDB %s as root: %w", r.Addr, err)
}
