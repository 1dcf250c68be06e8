/** Integration of the transport with Spring Boot, enabled by a property. */
package io.rdmaraw.springboot;
