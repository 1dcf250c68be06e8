package io.rdmaraw.suite.rsocket;

/** By Reactor Netty's {@code TcpServer} and {@code TcpClient}. */
class RSocketTcpTest extends ReactorNettyPairTest {
}
