// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/gitprovider"
)

// DefaultAddress is the address that clients of the API's former controller use.
const DefaultAddress = ":8082"

// Options configure the server.
type Options struct {
	// Client reads from and writes to the API server without a cache: Secrets are read by name and not kept.
	Client client.WithWatch
	// Wake triggers a pass of the controller over a pipeline now. It must not block. On a replica without the lease it has no effect:
	// the replica with the lease watches everything that the controller can find.
	Wake func(types.NamespacedName)
	// Delivered is called when a Git server reports a change of a pull request. The pipeline is the one in the path, and the Git
	// server has its key. It must not block.
	Delivered func(types.NamespacedName, gitprovider.Event)

	// Address is host:port to listen on.
	Address string
	// CertificateFile and KeyFile enable TLS. They are reloaded when they change.
	CertificateFile, KeyFile string
	// TrustedProxies may set the client of a call in X-Forwarded-For.
	TrustedProxies []netip.Prefix

	// BodySignatures accepts approvals with the older signature over the body alone. Anyone who has seen one such call can approve everything
	// for which the key is valid.
	BodySignatures bool
	// Unsigned accepts approvals of promotions that name no Secret from anyone who reaches the server.
	Unsigned bool

	// LocationPatience is how long an approval waits for the URL of the pull request; default five seconds.
	LocationPatience time.Duration
	// RefusalTime is the minimum time until a call is denied, so that the time does not reveal the reason; default a quarter of a second.
	RefusalTime time.Duration
	// Now is the clock. Nil means the real one.
	Now func() time.Time
	Log logr.Logger
}

const (
	defaultLocationPatience = 5 * time.Second
	defaultRefusalTime      = 250 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Wake == nil {
		o.Wake = func(types.NamespacedName) {}
	}
	if o.Delivered == nil {
		o.Delivered = func(types.NamespacedName, gitprovider.Event) {}
	}
	if o.LocationPatience == 0 {
		o.LocationPatience = defaultLocationPatience
	}
	if o.RefusalTime == 0 {
		o.RefusalTime = defaultRefusalTime
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	return o
}

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	if o.Client == nil {
		return errors.New("the approval server needs a client")
	}
	if (o.CertificateFile == "") != (o.KeyFile == "") {
		return errors.New("the approval server needs both the certificate file and the key file, or neither for plain HTTP")
	}
	for _, prefix := range o.TrustedProxies {
		if !prefix.IsValid() {
			return fmt.Errorf("the trusted proxy %s is not an address range: use for example 10.0.0.0/8", prefix)
		}
	}
	return nil
}
