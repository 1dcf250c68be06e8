package io.rdmaraw.reactornetty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.channel.unix.DomainSocketChannel;
import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.udp.UdpClient;
import reactor.netty.udp.UdpServer;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/** Servers and clients of Reactor Netty on a loop device. Creating an NIO channel for TCP or UDP would fail. */
@ExtendWith(LeakExtension.class)
@Timeout(120)
class RdmaRawLoopResourcesTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final AtomicInteger DEVICES = new AtomicInteger();

    private final RdmaRawLoopResources loops = new RdmaRawLoopResources(2, RdmaRawIoHandlerConfig.builder()
            .device("soft:loop:reactor" + DEVICES.incrementAndGet()).nioChannels(NioChannels.REFUSED).build());
    private final ConnectionProvider connections = ConnectionProvider.create("test", 8);

    @AfterEach
    void close() {
        connections.disposeLater().block(PATIENCE);
        loops.disposeLater(Duration.ZERO, PATIENCE).block(PATIENCE);
        assertTrue(loops.isDisposed());
    }

    private DisposableServer echo(HttpProtocol protocol) {
        return HttpServer.create().runOn(loops).protocol(protocol).host("127.0.0.1").port(0)
                .handle((request, response) -> response.send(request.receive().retain())).bindNow(PATIENCE);
    }

    private Mono<byte[]> post(DisposableServer server, HttpProtocol protocol, byte[] body) {
        return HttpClient.create(connections).runOn(loops).protocol(protocol).host("127.0.0.1").port(server.port())
                .post().uri("/").send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                .responseSingle((response, content) -> content.asByteArray());
    }

    @Test
    void bodiesComeBackAsTheyWent() {
        byte[] body = new byte[1 << 20];
        new Random(1).nextBytes(body);
        for (HttpProtocol protocol : List.of(HttpProtocol.HTTP11, HttpProtocol.H2C)) {
            DisposableServer server = echo(protocol);
            assertArrayEquals(body, post(server, protocol, body).block(PATIENCE));
            server.disposeNow(PATIENCE);
        }
    }

    @Test
    void manySmallRequestsAtATime() {
        DisposableServer server = echo(HttpProtocol.HTTP11);
        List<String> answers = Flux.range(0, 300).flatMapSequential(number -> post(server, HttpProtocol.HTTP11,
                ("request " + number).getBytes()).map(String::new), 16).collectList().block(PATIENCE);
        for (int i = 0; i < 300; i++) {
            assertEquals("request " + i, answers.get(i));
        }
        server.disposeNow(PATIENCE);
    }

    @Test
    void datagrams() {
        var server = UdpServer.create().runOn(loops).host("127.0.0.1").port(0).handle((in, out) ->
                out.sendObject(in.receiveObject().map(packet -> {
                    var datagram = (io.netty.channel.socket.DatagramPacket) packet;
                    return new io.netty.channel.socket.DatagramPacket(datagram.content().retain(),
                            datagram.sender());
                }))).bindNow(PATIENCE);
        int port = ((java.net.InetSocketAddress) server.address()).getPort();
        var client = UdpClient.create().runOn(loops).host("127.0.0.1").port(port).connectNow(PATIENCE);
        client.outbound().sendString(Mono.just("a question")).then().subscribe();
        assertEquals("a question", client.inbound().receive().asString().blockFirst(PATIENCE));
        client.disposeNow(PATIENCE);
        server.disposeNow(PATIENCE);
    }

    /**
     * Blocking on a loop's thread is rejected. A handler that blocks for a request on its own loop would wait for ever.
     */
    @Test
    void blockingOnALoopIsRefused() {
        DisposableServer echo = echo(HttpProtocol.HTTP11);
        DisposableServer server = HttpServer.create().runOn(loops).host("127.0.0.1").port(0)
                .handle((request, response) -> response.sendString(Mono.fromCallable(() -> {
                    assertTrue(Thread.currentThread().isDaemon());
                    try {
                        return new String(post(echo, HttpProtocol.HTTP11, new byte[] {'x'}).block(PATIENCE));
                    } catch (IllegalStateException e) {
                        return e.getMessage();
                    }
                }))).bindNow(PATIENCE);
        String answer = new String(post(server, HttpProtocol.HTTP11, new byte[0]).block(PATIENCE));
        assertTrue(answer.contains("blocking, which is not supported in thread rdma-raw-"), answer);
        assertTrue(loops.daemon());
        server.disposeNow(PATIENCE);
        echo.disposeNow(PATIENCE);
    }

    @Test
    void domainSocketsAreNamedAsMissing() {
        var failure = assertThrows(IllegalArgumentException.class,
                () -> loops.onChannel(DomainSocketChannel.class, loops.onServer(true)));
        assertTrue(failure.getMessage().contains("no DomainSocketChannel"), failure.getMessage());
    }
}
