package io.rdmaraw.suite.rsocket;

/** Tests with Reactor Netty's {@code TcpServer} and {@code TcpClient}. */
class RSocketTcpTest extends ReactorNettyPairTest {
}
