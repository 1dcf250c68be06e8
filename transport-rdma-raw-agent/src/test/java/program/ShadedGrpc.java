package program;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;

/** A server or client of gRPC with its bundled Netty, which is in another package. */
public final class ShadedGrpc {
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

    private ShadedGrpc() {
    }

    /**
     * Without arguments, listens on the port in the property {@code grpc.port}. With an argument, connects to that
     * host.
     */
    public static void main(String[] args) throws Exception {
        int port = Integer.getInteger("grpc.port");
        if (args.length == 0) {
            Server server = NettyServerBuilder.forPort(port).addService(ServerServiceDefinition.builder("test")
                    .addMethod(ECHO, ServerCalls.asyncUnaryCall((request, answer) -> {
                        answer.onNext(request);
                        answer.onCompleted();
                    })).build()).build().start();
            System.out.println("listening");
            server.awaitTermination();
            return;
        }
        ManagedChannel channel = NettyChannelBuilder.forAddress(args[0], port).usePlaintext().build();
        for (int length = 0; length < 100_000; length += 1_000) {
            byte[] request = new byte[length];
            Arrays.fill(request, (byte) length);
            if (!Arrays.equals(request, ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, request))) {
                throw new IllegalStateException("another answer of " + length + " bytes");
            }
        }
        channel.shutdownNow();
        System.out.println("all answered");
    }
}
