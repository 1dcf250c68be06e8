package io.rdmaraw.grpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** A gRPC server and client on a loop device. Creating an NIO channel for TCP would fail. */
@ExtendWith(LeakExtension.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class RdmaRawGrpcTest {
    private static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
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
    };
    private static final MethodDescriptor<byte[], byte[]> ECHO = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("test/echo").setRequestMarshaller(BYTES)
            .setResponseMarshaller(BYTES).build();

    private final RdmaRawEventLoopGroup loops = new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder()
            .device("soft:loop:grpc").nioChannels(NioChannels.REFUSED).build());
    private Server server;
    private ManagedChannel channel;

    @BeforeAll
    void start() throws IOException {
        server = RdmaRawGrpc.server(NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)), loops)
                .addService(ServerServiceDefinition.builder("test").addMethod(ECHO,
                        ServerCalls.asyncUnaryCall((request, answer) -> {
                            answer.onNext(request);
                            answer.onCompleted();
                        })).build()).build().start();
        channel = RdmaRawGrpc.client(NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()), loops)
                .usePlaintext().build();
    }

    @AfterAll
    void end() throws InterruptedException {
        assertTrue(channel.shutdown().awaitTermination(60, TimeUnit.SECONDS));
        assertTrue(server.shutdown().awaitTermination(60, TimeUnit.SECONDS));
        loops.shutdownGracefully(0, 60, TimeUnit.SECONDS).sync();
    }

    private static byte[] bytes(int count) {
        byte[] bytes = new byte[count];
        new Random(count).nextBytes(bytes);
        return bytes;
    }

    @Test
    void messagesComeBackAsTheyWent() {
        for (int length : new int[] {0, 1, 1_000, 100_000, 3 << 20}) {
            assertArrayEquals(bytes(length),
                    ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, bytes(length)));
        }
    }

    @Test
    void manyCallsAtATime() throws Exception {
        List<Future<byte[]>> answers = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            answers.add(ClientCalls.futureUnaryCall(channel.newCall(ECHO, CallOptions.DEFAULT), bytes(i)));
        }
        for (int i = 0; i < 500; i++) {
            assertArrayEquals(bytes(i), answers.get(i).get(60, TimeUnit.SECONDS));
        }
    }
}
