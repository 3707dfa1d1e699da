package embedded

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authority issues certificates. P-256 throughout: a whole cluster's keys take
// milliseconds, where RSA would take a second.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
	now  time.Time
}

// keyPair is a certificate with its key, both in PEM.
type keyPair struct{ cert, key []byte }

const (
	// certLife is long for a throw-away cluster and short for a lost key.
	certLife = 365 * 24 * time.Hour
	// certSkew lets a clock that is set back a little not end a cluster.
	certSkew = 5 * time.Minute
)

func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	a := &authority{key: key, now: now}
	der, err := a.sign(template, template, key.Public())
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.pem = encodeCert(der)
	return a, nil
}

func (a *authority) sign(template, parent *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = a.now.Add(-certSkew)
	template.NotAfter = a.now.Add(certLife)
	return x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
}

// issue makes a key and a certificate for it.
func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.sign(template, a.cert, key.Public())
	if err != nil {
		return keyPair{}, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encodeCert(der), key: keyPEM}, nil
}

// client issues a certificate for a user of the API, or of etcd. Kubernetes
// reads the user from the common name and the groups from the organizations.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// server issues a certificate for a listener on loopback. etcd's peer listener
// needs both usages, because a peer uses one certificate for both directions.
func (a *authority) server(name string, dns []string, ips []net.IP, also ...x509.ExtKeyUsage) (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    append([]string{"localhost"}, dns...),
		IPAddresses: append([]net.IP{net.ParseIP(loopback)}, ips...),
		ExtKeyUsage: append([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, also...),
	})
}

// signingPair makes the key that service account tokens are signed with, and
// its public half.
func signingPair() (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	private, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), key: private}, nil
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// encodeKey uses the SEC 1 form: every Kubernetes release reads it.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
