/** Manual pages of all commands. */
package io.rdmaraw.microbench.manual;
