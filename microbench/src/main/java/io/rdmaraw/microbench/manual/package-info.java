/** Creates the manual pages of all commands. */
package io.rdmaraw.microbench.manual;
