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

// DefaultAddress is the port that clients of the API's former controller know.
const DefaultAddress = ":8082"

// Options configure the server.
type Options struct {
	// Client reads and writes at the API server itself, not in a cache: Secrets are read by name and kept nowhere.
	Client client.WithWatch
	// Wake has the controller look at a pipeline now. It must not block. On a replica without the lease it has no effect,
	// and none is needed: whatever the controller could find is watched by the one that holds it.
	Wake func(types.NamespacedName)
	// Delivered tells that a Git server reports something about a pull request. The pipeline is the one in the path, whose
	// key the Git server knows. It must not block.
	Delivered func(types.NamespacedName, gitprovider.Event)

	// Address is host:port to listen on.
	Address string
	// CertificateFile and KeyFile turn on TLS. They are read again when they change.
	CertificateFile, KeyFile string
	// TrustedProxies may say in X-Forwarded-For whom a call comes from.
	TrustedProxies []netip.Prefix

	// BodySignatures accepts approvals with the older signature over the body alone. Whoever has seen one such call can
	// approve everything that the key is good for.
	BodySignatures bool
	// Unsigned accepts approvals of promotions that name no Secret from everybody who reaches the server.
	Unsigned bool

	// LocationPatience is how long an approval waits for the URL of the pull request. Zero means five seconds.
	LocationPatience time.Duration
	// RefusalTime is how long after a call it is refused at the earliest, so that the time says nothing about the reason.
	// Zero means a quarter of a second.
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

// Validate names what is wrong with the options.
func (o Options) Validate() error {
	if o.Client == nil {
		return errors.New("the approval server needs a client")
	}
	if (o.CertificateFile == "") != (o.KeyFile == "") {
		return errors.New("the certificate file and the key file of the approval server go together: set both, or none for plain HTTP")
	}
	for _, prefix := range o.TrustedProxies {
		if !prefix.IsValid() {
			return fmt.Errorf("the trusted proxy %s is no address range: write for example 10.0.0.0/8", prefix)
		}
	}
	return nil
}
