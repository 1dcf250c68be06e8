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

/**
 * Sends datagrams between sockets of Vert.x. Vert.x copies and releases a received buffer only if it recognizes the
 * class.
 */
public final class VertxDatagrams {
    private static final int DATAGRAMS = 100;
    private static final int PATIENCE_SECONDS = 30;

    private VertxDatagrams() {
    }

    private static <T> T await(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Returns the owner of a received buffer, determined by the innermost buffer below all views. */
    private static String bottom(Buffer received) {
        ByteBuf buffer = ((BufferInternal) received).getByteBuf();
        while (buffer.unwrap() != null && buffer.unwrap() != buffer) {
            buffer = buffer.unwrap();
        }
        return buffer instanceof UnpooledHeapByteBuf ? "Vert.x' own" : buffer.getClass().getSimpleName();
    }

    /** Sends the datagrams one after the other and prints each reply. */
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
