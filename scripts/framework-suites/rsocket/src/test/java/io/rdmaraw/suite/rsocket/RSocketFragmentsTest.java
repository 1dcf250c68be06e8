package io.rdmaraw.suite.rsocket;

/** By Reactor Netty's {@code TcpServer} and {@code TcpClient}, in many small pieces. */
class RSocketFragmentsTest extends ReactorNettyPairTest {
    @Override
    boolean inFragments() {
        return true;
    }
}
