package io.rdmaraw.examples.frameworks;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.grpc.RdmaRawGrpc;
import io.rdmaraw.lettuce.RdmaRawRedisClient;
import io.rdmaraw.reactornetty.RdmaRawLoopResources;
import io.rdmaraw.testsuite.net.ImpairedPair;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.testsuite.sim.Impairment;
import io.rdmaraw.vertx.RdmaRawTransport;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.web.server.WebFilter;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A response arrives completely although the framework is shut down directly after writing it. The path has a delay and
 * loses frames, so most of the response is unacknowledged when the loops end.
 */
@WithTestNetwork
@Timeout(900)
class FrameworkShutdownTest {
    /** Number of responses in each test. The record in docs/lab/shutdowns.md was made with 20. */
    private static final int RESPONSES = Integer.getInteger("rdmaraw.shutdowns", 1);
    /** Whether the frameworks use Netty's epoll transport instead, for comparison. */
    private static final boolean KERNEL = Boolean.getBoolean("rdmaraw.shutdowns.kernel");
    private static final int PORT = 8080;
    private static final int PATIENCE_SECONDS = 60;
    private static final int WINDOW_BYTES = 64 << 20;

    enum Path {
        LOSSY(1_000_000, Impairment.NONE.delay(Duration.ofMillis(20)).loss(0.01)),
        LONG(10_000_000, Impairment.NONE.delay(Duration.ofMillis(20)));

        private final byte[] body;
        private final Impairment impairment;

        Path(int bytes, Impairment impairment) {
            body = new byte[bytes];
            new Random(bytes).nextBytes(body);
            this.impairment = impairment;
        }
    }

    /** Sends a response and shuts the framework down. Returns the bytes that the peer received. */
    private interface Shutdown {
        byte[] run(ImpairedPair pair, byte[] body) throws Exception;
    }

    private static void check(String framework, TestNetwork network, Path path, Shutdown shutdown) throws Exception {
        network.withoutCapture();
        ImpairedPair pair = network.impairedPair(path.impairment, 1);
        int whole = 0;
        StringBuilder broken = new StringBuilder();
        for (int i = 0; i < RESPONSES; i++) {
            byte[] received = shutdown.run(pair, path.body);
            if (Arrays.equals(path.body, received)) {
                whole++;
            } else {
                broken.append(' ').append(received.length);
            }
        }
        System.out.printf("shutdown: %s, %s: %d of %d whole%n", framework, path, whole, RESPONSES);
        assertEquals(RESPONSES, whole, () -> framework + " of " + path.body.length + " bytes:" + broken);
    }

    private static RdmaRawIoHandlerConfig config(ImpairedPair pair) {
        return RdmaRawIoHandlerConfig.builder().device(device(pair)).build();
    }

    private static String device(ImpairedPair pair) {
        return "soft:xdp:" + pair.ours().name();
    }

    private static EventLoopGroup loops(ImpairedPair pair, int number) {
        return KERNEL ? new MultiThreadIoEventLoopGroup(number, EpollIoHandler.newFactory())
                : new RdmaRawEventLoopGroup(number, config(pair));
    }

    private static <T> T inPeer(ImpairedPair pair, Callable<T> opening) {
        try {
            return pair.peer().namespace().call(opening);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Requests a page and reads until the end of the stream. */
    private static byte[] get(ImpairedPair pair) throws IOException {
        ByteArrayOutputStream received = new ByteArrayOutputStream();
        try (SocketChannel client = inPeer(pair, SocketChannel::open)) {
            client.connect(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), PORT));
            client.write(ByteBuffer.wrap("GET / HTTP/1.1\r\nHost: test\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
            client.socket().setSoTimeout(PATIENCE_SECONDS * 1000);
            client.socket().getInputStream().transferTo(received);
        } catch (IOException e) {
            // After a reset, the bytes received before it count.
            System.out.println("shutdown: " + e);
        }
        byte[] all = received.toByteArray();
        int end = received.toString(StandardCharsets.ISO_8859_1).indexOf("\r\n\r\n");
        return end < 0 ? new byte[0] : Arrays.copyOfRange(all, end + 4, all.length);
    }

    @ParameterizedTest
    @EnumSource
    void vertx(Path path, TestNetwork network) throws Exception {
        check("Vert.x", network, path, (pair, body) -> {
            VertxBuilder builder = Vertx.builder().with(new VertxOptions().setEventLoopPoolSize(2)
                    .setPreferNativeTransport(true));
            Vertx vertx = (KERNEL ? builder : builder.withTransport(new RdmaRawTransport(config(pair)))).build();
            CompletableFuture<Void> closed = new CompletableFuture<>();
            vertx.createHttpServer().requestHandler(request -> request.response().end(Buffer.buffer(body))
                    .onComplete(sent -> vertx.close().onComplete(done -> closed.complete(null))))
                    .listen(PORT, pair.ours().ipv4()).toCompletionStage().toCompletableFuture()
                    .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            byte[] received = get(pair);
            closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            return received;
        });
    }

    @ParameterizedTest
    @EnumSource
    void reactorNetty(Path path, TestNetwork network) throws Exception {
        check("Reactor Netty", network, path, (pair, body) -> {
            LoopResources loops = KERNEL ? LoopResources.create("http", 2, true)
                    : new RdmaRawLoopResources(2, config(pair));
            CompletableFuture<Void> written = new CompletableFuture<>();
            DisposableServer server = HttpServer.create().runOn(loops).host(pair.ours().ipv4()).port(PORT)
                    .doOnConnection(connection ->
                            connection.channel().pipeline().addFirst(new WriteCounter(body.length, written)))
                    .handle((request, response) -> response.sendByteArray(Mono.just(body))).bindNow();
            CompletableFuture<Void> closed = written.thenRunAsync(() -> {
                server.dispose();
                loops.disposeLater(Duration.ZERO, Duration.ofSeconds(PATIENCE_SECONDS)).block();
            }, Thread::startVirtualThread);
            byte[] received = get(pair);
            closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            return received;
        });
    }

    /**
     * An application with one page, of the length that the test selects. It has no stereotype annotation, because the
     * application of {@link SpringBootServer} also scans this package.
     */
    @EnableAutoConfiguration
    static class Page {
        private static volatile byte[] body;
        private static volatile CompletableFuture<Void> closed;

        @Bean
        RouterFunction<ServerResponse> page() {
            return RouterFunctions.route().GET("/", request -> ServerResponse.ok().bodyValue(body)).build();
        }

        @Bean
        WebFilter closeAfterResponse(ConfigurableApplicationContext context) {
            return (exchange, chain) -> chain.filter(exchange).doOnSuccess(sent -> Thread.ofPlatform().start(() -> {
                context.close();
                closed.complete(null);
            }));
        }
    }

    @ParameterizedTest
    @EnumSource
    void springBoot(Path path, TestNetwork network) throws Exception {
        check("Spring Boot", network, path, (pair, body) -> {
            Page.body = body;
            Page.closed = new CompletableFuture<>();
            new SpringApplicationBuilder(Page.class).run(
                    KERNEL ? "--a=b" : "--rdmaraw.device=" + device(pair), "--rdmaraw.loops=2",
                    "--server.address=" + pair.ours().ipv4(), "--server.port=" + PORT, "--spring.main.banner-mode=off",
                    "--logging.level.root=warn");
            byte[] received = get(pair);
            Page.closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            return received;
        });
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream in) {
            try {
                return in.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** gRPC's own shutdown waits for calls. The program owns the loops and shuts them down afterwards. */
    @ParameterizedTest
    @EnumSource
    void grpc(Path path, TestNetwork network) throws Exception {
        MethodDescriptor<byte[], byte[]> method = MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("test/Get")
                .setRequestMarshaller(new Bytes()).setResponseMarshaller(new Bytes()).build();
        check("gRPC", network, path, (pair, body) -> {
            EventLoopGroup loops = loops(pair, 2);
            AtomicReference<Server> server = new AtomicReference<>();
            CompletableFuture<Void> closed = new CompletableFuture<>();
            NettyServerBuilder builder = NettyServerBuilder.forAddress(new InetSocketAddress(pair.ours().ipv4(), PORT))
                    .directExecutor().addService(ServerServiceDefinition.builder("test")
                            .addMethod(method, ServerCalls.asyncUnaryCall((request, answer) -> {
                                answer.onNext(body);
                                answer.onCompleted();
                                server.get().shutdown();
                                Thread.ofPlatform().start(() -> {
                                    try {
                                        server.get().awaitTermination();
                                        loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
                                    } catch (InterruptedException e) {
                                        throw new IllegalStateException(e);
                                    }
                                    closed.complete(null);
                                });
                            })).build());
            server.set((KERNEL ? builder.channelType(EpollServerSocketChannel.class).bossEventLoopGroup(loops)
                    .workerEventLoopGroup(loops) : RdmaRawGrpc.server(builder, (RdmaRawEventLoopGroup) loops)).build()
                    .start());
            EventLoopGroup nio = new MultiThreadIoEventLoopGroup(1, pair.peer().namespace().threadFactory(),
                    NioIoHandler.newFactory());
            ManagedChannel client = NettyChannelBuilder.forAddress(new InetSocketAddress(pair.ours().ipv4(), PORT))
                    .usePlaintext().eventLoopGroup(nio).channelFactory(() -> inPeer(pair, NioSocketChannel::new))
                    .maxInboundMessageSize(Integer.MAX_VALUE)
                    // With a smaller window, a WINDOW_UPDATE after the server's close would reset the connection, on
                    // any transport.
                    .flowControlWindow(WINDOW_BYTES).build();
            try {
                return ClientCalls.blockingUnaryCall(client, method, CallOptions.DEFAULT
                        .withDeadlineAfter(PATIENCE_SECONDS, TimeUnit.SECONDS), new byte[0]);
            } catch (StatusRuntimeException e) {
                System.out.println("shutdown: " + e);
                return new byte[0];
            } finally {
                closed.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                client.shutdownNow();
                nio.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
            }
        });
    }

    /** Completes a future after a given number of bytes has been written. */
    private static final class WriteCounter extends ChannelOutboundHandlerAdapter {
        private final int bytes;
        private final CompletableFuture<Void> written;
        private long sum;

        WriteCounter(int bytes, CompletableFuture<Void> written) {
            this.bytes = bytes;
            this.written = written;
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            sum += message instanceof ByteBuf buffer ? buffer.readableBytes() : 0;
            boolean last = sum >= bytes;
            context.write(message, promise.unvoid()).addListener(done -> {
                if (last && done.isSuccess()) {
                    written.complete(null);
                }
            });
        }
    }

    /** Acknowledges each command except SET, and returns the value of SET. */
    private static byte[] serveRedis(ServerSocketChannel server) throws IOException {
        byte[] value = new byte[0];
        try (SocketChannel channel = server.accept();
                DataInputStream in = new DataInputStream(Channels.newInputStream(channel))) {
            for (int words = number(in); words > 0; words = number(in)) {
                byte[][] command = new byte[words][];
                for (int i = 0; i < words; i++) {
                    command[i] = in.readNBytes(number(in));
                    in.readNBytes(2);
                }
                if (new String(command[0], StandardCharsets.US_ASCII).equals("SET")) {
                    value = command[2];
                } else {
                    channel.write(ByteBuffer.wrap("+OK\r\n".getBytes(StandardCharsets.US_ASCII)));
                }
            }
        } catch (IOException e) {
            System.out.println("shutdown: " + e);
        }
        return value;
    }

    /** Parses a line such as {@code $12}. Returns 0 at the end of the stream. */
    private static int number(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                return 0;
            }
            line.append((char) next);
        }
        return Integer.parseInt(line.substring(1).trim());
    }

    /** A Redis client writes a large value and shuts down as soon as it is written. */
    @ParameterizedTest
    @EnumSource
    void lettuce(Path path, TestNetwork network) throws Exception {
        check("Lettuce", network, path, (pair, body) -> {
            try (ServerSocketChannel server = inPeer(pair, ServerSocketChannel::open)) {
                server.bind(new InetSocketAddress(pair.peer().ipv4(), 0));
                CompletableFuture<byte[]> value = new CompletableFuture<>();
                Thread.startVirtualThread(() -> {
                    try {
                        value.complete(serveRedis(server));
                    } catch (IOException e) {
                        value.completeExceptionally(e);
                    }
                });
                CompletableFuture<Void> written = new CompletableFuture<>();
                ClientResources resources = ClientResources.builder().nettyCustomizer(new NettyCustomizer() {
                    @Override
                    public void afterChannelInitialized(Channel channel) {
                        channel.pipeline().addFirst(new WriteCounter(body.length, written));
                    }
                }).build();
                EventLoopGroup loops = loops(pair, 1);
                InetSocketAddress address = (InetSocketAddress) server.getLocalAddress();
                RedisURI redis = RedisURI.create(address.getHostString(), address.getPort());
                RedisClient client = KERNEL ? RedisClient.create(resources, redis)
                        : RdmaRawRedisClient.create(resources, (RdmaRawEventLoopGroup) loops, redis);
                client.setOptions(ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
                client.connect(io.lettuce.core.codec.ByteArrayCodec.INSTANCE).async().set(new byte[] {'k'}, body);
                written.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                client.shutdown(0, PATIENCE_SECONDS, TimeUnit.SECONDS);
                loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
                resources.shutdown(0, PATIENCE_SECONDS, TimeUnit.SECONDS);
                return value.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
        });
    }
}
