// SPDX-License-Identifier: Apache-2.0

import io.rdmaraw.testsuite.sim.SegmentCodec;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Serves packetdrill processes: each gets a {@link ScriptHost} of its own, with the TCP core in virtual time. The
 * requests are those of sockets.c.
 *
 * <p>usage: java PacketdrillHost SOCKET
 */
public final class PacketdrillHost {
    private static final int ARGUMENTS = 6;
    private static final int REQUEST_BYTES = 8 + ARGUMENTS * 8;
    private static final int RESPONSE_BYTES = 16;
    private static final int HELLO = 0;

    private static final Map<Long, ScriptHost> HOSTS = new ConcurrentHashMap<>();
    private static final Map<Long, Integer> CONNECTIONS = new ConcurrentHashMap<>();

    private PacketdrillHost() {
    }

    /** Entry point. */
    public static void main(String[] args) throws IOException {
        Path path = Path.of(args[0]);
        Files.deleteIfExists(path);
        new SegmentCodec();
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(path));
            System.out.println("ready");
            while (true) {
                SocketChannel channel = server.accept();
                Thread.ofPlatform().daemon().start(() -> serve(channel));
            }
        }
    }

    private static void serve(SocketChannel channel) {
        long process = 0;
        try (channel) {
            DataInputStream in = new DataInputStream(Channels.newInputStream(channel));
            DataOutputStream out = new DataOutputStream(Channels.newOutputStream(channel));
            ScriptHost host = null;
            while (true) {
                ByteBuffer request = read(in, REQUEST_BYTES);
                int operation = request.getInt();
                byte[] payload = new byte[request.getInt()];
                long[] arguments = new long[ARGUMENTS];
                for (int i = 0; i < ARGUMENTS; i++) {
                    arguments[i] = request.getLong();
                }
                in.readFully(payload);
                Answer answer;
                if (operation == HELLO) {
                    process = arguments[0];
                    CONNECTIONS.merge(process, 1, Integer::sum);
                    Path settings = Path.of(new String(payload, StandardCharsets.UTF_8));
                    host = HOSTS.computeIfAbsent(process, id -> new ScriptHost(settings));
                    answer = Answer.of(0);
                } else {
                    answer = host.call(operation, arguments, payload);
                }
                ByteBuffer response = ByteBuffer.allocate(RESPONSE_BYTES + answer.payload().length)
                        .order(ByteOrder.nativeOrder());
                response.putLong(answer.result()).putInt(answer.error()).putInt(answer.payload().length);
                out.write(response.put(answer.payload()).array());
                out.flush();
            }
        } catch (IOException e) {
            // packetdrill ends in the middle of a call when a script fails.
        } catch (RuntimeException e) {
            e.printStackTrace();
        } finally {
            if (CONNECTIONS.merge(process, -1, Integer::sum) == 0) {
                HOSTS.remove(process);
            }
        }
    }

    private static ByteBuffer read(DataInputStream in, int bytes) throws IOException {
        byte[] read = new byte[bytes];
        in.readFully(read);
        return ByteBuffer.wrap(read).order(ByteOrder.nativeOrder());
    }
}
