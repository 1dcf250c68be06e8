/** The transport for Lettuce. */
package io.rdmaraw.lettuce;
