/** Tests the output of commands against stored files. */
package io.rdmaraw.testsuite.golden;
