// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/bcrypt"
	//lint:ignore SA1019 bcrypt is made of it, and the package bcrypt does not take a salt
	"golang.org/x/crypto/blowfish"
)

// The costs of bcrypt supported here. Each increment doubles the work; the largest takes about a second.
const (
	DefaultBcrypt = bcrypt.DefaultCost
	LargestBcrypt = 14
	// longestPassword is the number of bytes of a password that bcrypt uses.
	longestPassword = 72
)

// Errors that contain nothing of the input.
var (
	ErrCost     = fmt.Errorf("the cost of bcrypt must be at most %d, because each increment doubles the work", LargestBcrypt)
	ErrPassword = fmt.Errorf("bcrypt takes passwords of at most %d bytes", longestPassword)
	ErrMD5Crypt = errors.New("the text is not a hash of md5crypt: it has three dollar signs")
)

// CostOfBcrypt returns the cost of hashing a password, in the steps of templates.
func CostOfBcrypt(cost int) int64 { return 64 << cost }

// bcryptText is the encoding of bcrypt, which has its own alphabet.
var bcryptText = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

// BcryptCost returns the cost of a new hash. Values too small for bcrypt mean the default.
func BcryptCost(wanted int64) (int, error) {
	switch {
	case wanted > LargestBcrypt:
		return 0, ErrCost
	case wanted < int64(bcrypt.MinCost):
		return DefaultBcrypt, nil
	}
	return int(wanted), nil
}

// Bcrypt hashes a password with a salt read from entropy. The library takes its salt from the machine.
func Bcrypt(entropy io.Reader, password string, cost int) (string, error) {
	switch {
	case cost < bcrypt.MinCost || cost > LargestBcrypt:
		return "", ErrCost
	case len(password) > longestPassword:
		return "", ErrPassword
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(entropy, salt); err != nil {
		return "", err
	}
	key := append([]byte(password), 0)
	c, err := blowfish.NewSaltedCipher(key, salt)
	if err != nil {
		return "", ErrPassword
	}
	for range 1 << cost {
		blowfish.ExpandKey(key, c)
		blowfish.ExpandKey(salt, c)
	}
	hash := []byte("OrpheanBeholderScryDoubt")
	for block := range len(hash) / blowfish.BlockSize {
		part := hash[block*blowfish.BlockSize:][:blowfish.BlockSize]
		for range 64 {
			c.Encrypt(part, part)
		}
	}
	return fmt.Sprintf("$2a$%02d$%s%s", cost, bcryptText.EncodeToString(salt), bcryptText.EncodeToString(hash[:len(hash)-1])), nil
}

// CostInBcrypt returns the cost of a hash; ok is false if the text is not a hash.
func CostInBcrypt(hash string) (cost int, ok bool) {
	cost, err := bcrypt.Cost([]byte(hash))
	return cost, err == nil
}

// IsBcrypt reports whether a hash matches a password. It takes as long as creating the hash.
func IsBcrypt(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
}

// The alphabet of md5crypt, and its number of rounds.
const (
	md5cryptLetters = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	md5cryptRounds  = 1000
	// md5cryptKind is the kind of hash that is created: Apache's.
	md5cryptKind = "apr1"
)

// CostOfMD5Crypt returns the maximum number of bytes to hash.
func CostOfMD5Crypt(password, salt string) int64 {
	const block = 64
	return md5cryptRounds * int64(2*len(password)+len(salt)+block)
}

// MD5Crypt hashes a password with a salt read from entropy.
func MD5Crypt(entropy io.Reader, password string) (string, error) {
	salt := make([]byte, 8)
	if _, err := io.ReadFull(entropy, salt); err != nil {
		return "", err
	}
	for i, b := range salt {
		salt[i] = md5cryptLetters[b%64]
	}
	return md5crypt(password, string(salt), md5cryptKind), nil
}

// SaltInMD5Crypt returns the salt of a hash.
func SaltInMD5Crypt(hash string) (string, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 4 {
		return "", ErrMD5Crypt
	}
	return parts[2], nil
}

// IsMD5Crypt reports whether a hash matches a password.
func IsMD5Crypt(hash, password string) (bool, error) {
	salt, err := SaltInMD5Crypt(hash)
	if err != nil {
		return false, err
	}
	return md5crypt(password, salt, strings.Split(hash, "$")[1]) == hash, nil
}

// md5crypt is Poul-Henning Kamp's method: kind 1 is FreeBSD's, apr1 is Apache's.
func md5crypt(password, salt, kind string) string {
	sum := md5begin(password, salt, kind)
	for round := range md5cryptRounds {
		var mixed bytes.Buffer
		first, last := []byte(password), sum
		if round%2 == 0 {
			first, last = last, first
		}
		mixed.Write(first)
		if round%3 != 0 {
			mixed.WriteString(salt)
		}
		if round%7 != 0 {
			mixed.WriteString(password)
		}
		mixed.Write(last)
		sum = md5sum(mixed.Bytes())
	}
	return "$" + kind + "$" + salt + "$" + md5cryptText(sum)
}

// md5begin returns the first sum, which depends on each bit of the password's length.
func md5begin(password, salt, kind string) []byte {
	start := bytes.NewBufferString(password + "$" + kind + "$" + salt)
	other := md5sum([]byte(password + salt + password))
	for i := range len(password) {
		start.WriteByte(other[i%md5.Size])
	}
	for bits := len(password); bits > 0; bits /= 2 {
		if bits%2 == 0 {
			start.WriteByte(password[0])
		} else {
			start.WriteByte(0)
		}
	}
	return md5sum(start.Bytes())
}

func md5sum(content []byte) []byte {
	sum := md5.Sum(content)
	return sum[:]
}

// md5cryptText encodes a sum: three bytes at a time, in md5crypt's own order, as four letters, the lowest bits first.
func md5cryptText(sum []byte) string {
	var text strings.Builder
	write := func(bits uint, letters int) {
		for range letters {
			text.WriteByte(md5cryptLetters[bits%64])
			bits /= 64
		}
	}
	for i := range 5 {
		last := i + 12
		if i == 4 {
			last = 5
		}
		write(uint(sum[i])<<16|uint(sum[i+6])<<8|uint(sum[last]), 4)
	}
	write(uint(sum[11]), 2)
	return text.String()
}
