package io.rdmaraw.grpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
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
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** gRPC calls that are long, numerous, cancelled or read slowly. Neither end leaks a buffer. */
@ExtendWith(LeakExtension.class)
@Tag("slow")
@Timeout(300)
class TroublesomeCallsTest {
    private static final int LONG_BYTES = 10 << 20;
    private static final int PART_BYTES = 500_000;
    private static final int PARTS = 20;
    private static final int CALLS = 200;
    private static final int ROUNDS = 4;
    private static final int PATIENCE_SECONDS = 60;
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
    private static final MethodDescriptor<byte[], byte[]> ECHO = method(MethodDescriptor.MethodType.UNARY, "echo");
    private static final MethodDescriptor<byte[], byte[]> STREAM =
            method(MethodDescriptor.MethodType.BIDI_STREAMING, "stream");

    private final RdmaRawEventLoopGroup loops = new RdmaRawEventLoopGroup(2, RdmaRawIoHandlerConfig.builder()
            .device("soft:loop:grpc-trouble").nioChannels(NioChannels.REFUSED).build());
    private Server server;
    private ManagedChannel channel;

    private static MethodDescriptor<byte[], byte[]> method(MethodDescriptor.MethodType type, String name) {
        return MethodDescriptor.<byte[], byte[]>newBuilder().setType(type).setFullMethodName("test/" + name)
                .setRequestMarshaller(BYTES).setResponseMarshaller(BYTES).build();
    }

    @BeforeEach
    void start() throws IOException {
        server = RdmaRawGrpc.server(NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)), loops)
                .maxInboundMessageSize(2 * LONG_BYTES)
                .addService(ServerServiceDefinition.builder("test")
                        .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, answer) -> {
                            answer.onNext(request);
                            answer.onCompleted();
                        }))
                        .addMethod(STREAM, ServerCalls.asyncBidiStreamingCall(Echo::new)).build()).build().start();
        channel = client();
    }

    private ManagedChannel client() {
        return RdmaRawGrpc.client(NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()), loops)
                .maxInboundMessageSize(2 * LONG_BYTES).usePlaintext().build();
    }

    @AfterEach
    void end() throws InterruptedException {
        assertTrue(channel.shutdown().awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS));
        assertTrue(server.shutdown().awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS));
        loops.shutdownGracefully(0, PATIENCE_SECONDS, TimeUnit.SECONDS).sync();
    }

    /** Returns each message. */
    private record Echo(StreamObserver<byte[]> answer) implements StreamObserver<byte[]> {
        @Override
        public void onNext(byte[] value) {
            answer.onNext(value);
        }

        @Override
        public void onError(Throwable cause) {
            // The client has cancelled the call or closed the connection.
        }

        @Override
        public void onCompleted() {
            answer.onCompleted();
        }
    }

    /** Collects the messages and the final status of a call. */
    private static final class Answers extends ClientCall.Listener<byte[]> {
        private final BlockingQueue<byte[]> messages = new LinkedBlockingQueue<>();
        private final CompletableFuture<Status> end = new CompletableFuture<>();

        @Override
        public void onMessage(byte[] message) {
            messages.add(message);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            end.complete(status);
        }

        byte[] next() throws InterruptedException {
            byte[] message = messages.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            assertTrue(message != null, "no answer");
            return message;
        }

        Status.Code code() throws Exception {
            return end.get(PATIENCE_SECONDS, TimeUnit.SECONDS).getCode();
        }
    }

    private static byte[] bytes(int count, int seed) {
        byte[] bytes = new byte[count];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static ClientCall<byte[], byte[]> begin(ManagedChannel channel, Answers answers, int parts) {
        ClientCall<byte[], byte[]> call = channel.newCall(STREAM, CallOptions.DEFAULT);
        call.start(answers, new Metadata());
        for (int i = 0; i < parts; i++) {
            call.sendMessage(bytes(PART_BYTES, i));
        }
        return call;
    }

    @Test
    void longMessages() {
        for (int round = 0; round < ROUNDS; round++) {
            assertArrayEquals(bytes(LONG_BYTES, round),
                    ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, bytes(LONG_BYTES, round)));
        }
    }

    @Test
    void manyAtATime() throws Exception {
        List<Future<byte[]>> answers = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            answers.add(ClientCalls.futureUnaryCall(channel.newCall(ECHO, CallOptions.DEFAULT), bytes(20_000, i)));
        }
        for (int i = 0; i < CALLS; i++) {
            assertArrayEquals(bytes(20_000, i), answers.get(i).get(PATIENCE_SECONDS, TimeUnit.SECONDS));
        }
    }

    /** The client requests each message only after it has received the previous one. */
    @Test
    void aSlowReader() throws Exception {
        Answers answers = new Answers();
        ClientCall<byte[], byte[]> call = begin(channel, answers, PARTS);
        call.halfClose();
        for (int i = 0; i < PARTS; i++) {
            call.request(1);
            assertArrayEquals(bytes(PART_BYTES, i), answers.next());
        }
        call.request(1);
        assertEquals(Status.Code.OK, answers.code());
    }

    /** Calls are cancelled immediately, while sending, and while receiving. */
    @Test
    void callsThatAreCancelledHalfWay() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Answers answers = new Answers();
            ClientCall<byte[], byte[]> call = begin(channel, answers, PARTS);
            if (round % 2 == 0) {
                call.request(1);
                answers.next();
            }
            call.cancel("half way", null);
            assertEquals(Status.Code.CANCELLED, answers.code());
        }
        longMessages();
    }

    @Test
    void connectionsThatEndHalfWay() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            ManagedChannel other = client();
            Answers answers = new Answers();
            ClientCall<byte[], byte[]> call = begin(other, answers, PARTS);
            call.request(1);
            answers.next();
            assertTrue(other.shutdownNow().awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS));
            assertEquals(Status.Code.UNAVAILABLE, answers.code());
        }
        longMessages();
    }
}
