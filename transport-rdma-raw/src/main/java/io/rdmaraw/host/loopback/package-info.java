/** The host behind a loopback device: {@code 127.0.0.0/8} and {@code ::1}, without a network interface. */
package io.rdmaraw.host.loopback;
