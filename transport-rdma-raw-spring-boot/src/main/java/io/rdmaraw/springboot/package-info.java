/** The transport for Spring Boot: what a property switches on. */
package io.rdmaraw.springboot;
