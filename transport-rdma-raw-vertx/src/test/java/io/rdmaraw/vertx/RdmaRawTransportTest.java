package io.rdmaraw.vertx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.datagram.DatagramSocket;
import io.vertx.core.datagram.DatagramSocketOptions;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.SocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A Vert.x instance with TCP and UDP on a loop device. No buffer leaks, and no NIO channel replaces one of this
 * transport.
 */
@ExtendWith(LeakExtension.class)
@Timeout(120)
class RdmaRawTransportTest {
    private static final int BODY_BYTES = 10 << 20;
    private static final int BODIES = 3;
    private static final int PATIENCE_SECONDS = 60;
    private static final AtomicInteger DEVICES = new AtomicInteger();

    /** Creating an NIO channel for TCP or UDP would fail. */
    private final Vertx vertx = Vertx.builder().withTransport(new RdmaRawTransport(RdmaRawIoHandlerConfig.builder()
            .device("soft:loop:vertx" + DEVICES.incrementAndGet()).nioChannels(NioChannels.REFUSED).build())).build();

    @AfterEach
    void close() throws Exception {
        await(vertx.close());
    }

    private static <T> T await(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private static byte[] randomBytes(int count) {
        byte[] bytes = new byte[count];
        new Random(count).nextBytes(bytes);
        return bytes;
    }

    /** Returns the sum of a metric over all channels and the TCP stacks of all loops. */
    private static long metric(String name) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .flatMap(queue -> queue.channels().values().stream())
                .flatMapToLong(channel -> channel.metrics().stream().filter(metric -> metric.name().equals(name))
                        .mapToLong(channel::value)).sum();
    }

    private HttpServer echo() throws Exception {
        return await(vertx.createHttpServer().requestHandler(request -> request.body()
                .onSuccess(body -> request.response().end(body))).listen(0, "127.0.0.1"));
    }

    private Future<Buffer> post(HttpClient client, int port, Buffer body) {
        return client.request(HttpMethod.POST, port, "127.0.0.1", "/").compose(request -> request.send(body))
                .compose(response -> response.body());
    }

    @Test
    void largeBodiesComeBackAsTheyWent() throws Exception {
        HttpServer server = echo();
        HttpClient client = vertx.createHttpClient();
        byte[] body = randomBytes(BODY_BYTES);
        for (int i = 0; i < BODIES; i++) {
            Buffer answer = await(post(client, server.actualPort(), Buffer.buffer(body)));
            assertEquals(Buffer.buffer(body), answer);
        }
        assertTrue(metric("connections") >= 2, "the connection has two ends on the device");
        assertTrue(metric("foreign-allocator") > 0, "Vert.x has an allocator of its own");
        await(client.close());
    }

    @Test
    void manySmallRequestsAtATime() throws Exception {
        HttpServer server = echo();
        HttpClient client = vertx.createHttpClient();
        List<Future<Buffer>> answers = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            answers.add(post(client, server.actualPort(), Buffer.buffer("request " + i)));
        }
        for (int i = 0; i < answers.size(); i++) {
            assertEquals("request " + i, await(answers.get(i)).toString());
        }
        await(client.close());
    }

    /** Vert.x sends the file as a {@code FileRegion}. */
    @Test
    void filesAreSent(@TempDir Path directory) throws Exception {
        byte[] content = randomBytes(1 << 20);
        Path file = Files.write(directory.resolve("content"), content);
        HttpServer server = await(vertx.createHttpServer().requestHandler(request -> request.response()
                .sendFile(file.toString())).listen(0, "127.0.0.1"));
        HttpClient client = vertx.createHttpClient();
        assertEquals(Buffer.buffer(content), await(post(client, server.actualPort(), Buffer.buffer())));
        await(client.close());
    }

    @Test
    void datagrams() throws Exception {
        DatagramSocket server = await(vertx.createDatagramSocket().listen(0, "127.0.0.1"));
        server.handler(packet -> server.send(packet.data(), packet.sender().port(), packet.sender().host()));
        DatagramSocket client = await(vertx.createDatagramSocket().listen(0, "127.0.0.1"));
        Promise<Buffer> answer = Promise.promise();
        client.handler(packet -> answer.tryComplete(packet.data()));
        await(client.send("a question", server.localAddress().port(), "127.0.0.1"));
        assertEquals("a question", await(answer.future()).toString());
    }

    /**
     * By default, Vert.x disables multicast loopback to members on the same host. NIO interprets the option inversely.
     */
    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "230.0.0.1"})
    void multicastReachesMembersUntilTheyLeave(String address) throws Exception {
        String loopback = NetworkInterface.getByInetAddress(InetAddress.getByName("127.0.0.1")).getName();
        DatagramSocketOptions options = new DatagramSocketOptions().setMulticastNetworkInterface(loopback);
        DatagramSocket member = await(vertx.createDatagramSocket(options).listen(0, address));
        int port = member.localAddress().port();
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        member.handler(packet -> received.add(packet.data().toString()));
        await(member.listenMulticastGroup("230.0.0.1"));
        DatagramSocket silent = vertx.createDatagramSocket(options);
        DatagramSocket sender = vertx.createDatagramSocket(new DatagramSocketOptions(options)
                .setLoopbackModeDisabled(false));
        await(silent.send("kept from this host", port, "230.0.0.1"));
        await(sender.send("to members", port, "230.0.0.1"));
        assertEquals("to members", received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS));
        await(member.unlistenMulticastGroup("230.0.0.1"));
        await(sender.send("to none", port, "230.0.0.1"));
        await(member.listenMulticastGroup("230.0.0.1"));
        await(sender.send("to members again", port, "230.0.0.1"));
        assertEquals("to members again", received.poll(PATIENCE_SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void multicastNeedsAnInterfaceThatExists() {
        DatagramSocketOptions options = new DatagramSocketOptions().setMulticastNetworkInterface("none0");
        Throwable cause = assertThrows(IllegalArgumentException.class, () -> vertx.createDatagramSocket(options));
        assertEquals("there is no network interface none0 for multicast", cause.getMessage());
    }

    /** Domain sockets use the kernel, on the same loops. */
    @Test
    void domainSockets(@TempDir Path directory) throws Exception {
        SocketAddress address = SocketAddress.domainSocketAddress(directory.resolve("socket").toString());
        NetServer server = vertx.createNetServer().connectHandler(socket -> socket.handler(socket::write));
        await(server.listen(address));
        Promise<Buffer> answer = Promise.promise();
        NetClient client = vertx.createNetClient();
        await(client.connect(address).onSuccess(socket -> {
            socket.handler(answer::tryComplete);
            socket.write("a question");
        }));
        assertEquals("a question", await(answer.future()).toString());
        // The test must hold the client until here: Vert.x closes the sockets of a client that is garbage-collected.
        await(client.close());
    }

    @Test
    void keepaliveAndReusePortAreOptionsOfTheChannels() throws Exception {
        NetServerOptions options = new NetServerOptions();
        options.setReusePort(true).setTcpKeepAlive(true).setTcpKeepAliveIdleSeconds(3).setTcpKeepAliveCount(4)
                .setTcpKeepAliveIntervalSeconds(5).setTcpUserTimeout(6000).setTcpFastOpen(true);
        NetServer server = vertx.createNetServer(options).connectHandler(socket -> socket.handler(socket::end));
        await(server.listen(0, "127.0.0.1"));
        Promise<Buffer> answer = Promise.promise();
        // The client sends first, because Vert.x drops data that arrives before a socket has a handler.
        NetClient client = vertx.createNetClient();
        await(client.connect(server.actualPort(), "127.0.0.1").onSuccess(socket -> {
            socket.handler(answer::tryComplete);
            socket.write(Buffer.buffer("hello"));
        }));
        assertEquals("hello", await(answer.future()).toString());
        await(client.close());
    }

    @Test
    void theTransportIsNamed() {
        RdmaRawTransport transport = new RdmaRawTransport(RdmaRawIoHandlerConfig.defaults());
        assertEquals("rdma-raw", transport.name());
        assertTrue(transport.available());
        assertInstanceOf(RdmaRawTransportProvider.class, transport.implementation());
        assertTrue(vertx.isNativeTransportEnabled());
    }
}
