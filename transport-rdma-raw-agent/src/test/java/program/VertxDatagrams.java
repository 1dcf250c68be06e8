package program;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.datagram.DatagramSocket;
import io.vertx.core.internal.buffer.BufferInternal;

import java.util.concurrent.TimeUnit;

/** Datagrams between sockets of Vert.x, which copies what it receives and releases it, if it knows whose it is. */
public final class VertxDatagrams {
    private static final int DATAGRAMS = 100;
    private static final int PATIENCE_SECONDS = 30;

    private VertxDatagrams() {
    }

    private static <T> T await(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Says whose a received buffer is below all views of it. */
    private static String bottom(Buffer received) {
        ByteBuf buffer = ((BufferInternal) received).getByteBuf();
        while (buffer.unwrap() != null && buffer.unwrap() != buffer) {
            buffer = buffer.unwrap();
        }
        return buffer instanceof UnpooledHeapByteBuf ? "Vert.x' own" : buffer.getClass().getSimpleName();
    }

    /** Sends them one after the other. */
    public static void main(String[] args) throws Exception {
        Vertx vertx = Vertx.vertx();
        DatagramSocket server = await(vertx.createDatagramSocket().listen(0, "127.0.0.1"));
        server.handler(packet -> server.send(packet.data(), packet.sender().port(), packet.sender().host()));
        DatagramSocket client = await(vertx.createDatagramSocket().listen(0, "127.0.0.1"));
        for (int i = 0; i < DATAGRAMS; i++) {
            Promise<Buffer> answer = Promise.promise();
            client.handler(packet -> answer.tryComplete(packet.data()));
            await(client.send("datagram " + i, server.localAddress().port(), "127.0.0.1"));
            Buffer received = await(answer.future());
            System.out.println("answer: " + received);
            System.out.println("buffer: " + bottom(received));
        }
        await(vertx.close());
        System.out.println("done");
    }
}
