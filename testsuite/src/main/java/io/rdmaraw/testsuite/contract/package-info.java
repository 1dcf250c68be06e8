/**
 * Tests Netty's contract: runs generated programs on NIO, on epoll and on this transport, and compares everything that
 * an application can observe. Started by {@code ./rdma-raw test --contract}.
 */
package io.rdmaraw.testsuite.contract;
