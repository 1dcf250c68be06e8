package io.rdmaraw.examples.frameworks;

import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.grpc.RdmaRawGrpc;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** A gRPC server with a method {@code /hello/Say}. Its messages are plain text, so no generated classes are needed. */
public final class GrpcServer {
    private GrpcServer() {
    }

    private static final class Text implements MethodDescriptor.Marshaller<String> {
        @Override
        public InputStream stream(String value) {
            return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream in) {
            try {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static void say(String name, StreamObserver<String> answer) {
        answer.onNext("Hello, " + name + "!");
        answer.onCompleted();
    }

    /** Serves until the process is ended. */
    public static void main(String[] args) throws IOException, InterruptedException {
        Settings settings = Settings.parse(args);
        MethodDescriptor<String, String> method = MethodDescriptor.<String, String>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("hello/Say")
                .setRequestMarshaller(new Text()).setResponseMarshaller(new Text()).build();
        NettyServerBuilder builder = NettyServerBuilder
                .forAddress(new InetSocketAddress(settings.address(), settings.port()))
                // The service does not block, so it may run on the event loop.
                .directExecutor()
                .addService(ServerServiceDefinition.builder("hello")
                        .addMethod(method, ServerCalls.asyncUnaryCall(GrpcServer::say)).build());
        if (settings.deviceOrNull() == null) {
            EventLoopGroup loops = new MultiThreadIoEventLoopGroup(settings.threads(), EpollIoHandler.newFactory());
            builder.channelType(EpollServerSocketChannel.class).bossEventLoopGroup(loops).workerEventLoopGroup(loops);
        } else {
            RdmaRawGrpc.server(builder, new RdmaRawEventLoopGroup(settings.threads(), settings.config()));
        }
        Server server = builder.build().start();
        settings.sayListening("grpc");
        server.awaitTermination();
    }
}
