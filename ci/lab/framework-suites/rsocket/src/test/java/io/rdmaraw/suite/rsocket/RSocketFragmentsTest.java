package io.rdmaraw.suite.rsocket;

/** Tests with Reactor Netty's {@code TcpServer} and {@code TcpClient}, with frames split into small fragments. */
class RSocketFragmentsTest extends ReactorNettyPairTest {
    @Override
    boolean inFragments() {
        return true;
    }
}
