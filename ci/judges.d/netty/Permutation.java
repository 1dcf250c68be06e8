// SPDX-License-Identifier: Apache-2.0
package @PACKAGE@;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketProtocolFamily;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapComboFactory;
import io.netty.testsuite.transport.TestsuitePermutation.BootstrapFactory;
import io.netty.testsuite.transport.socket.SocketTestPermutation;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.judge.JudgeLoops;
import io.rdmaraw.judge.SilentHost;

import java.util.List;

/** Takes the place of Netty's class of this name: the pairs of channels that the tests run with. */
public class @CLASS@ extends SocketTestPermutation {
    static final @CLASS@ INSTANCE = new @CLASS@();

    static {
        SilentHost.add();
    }

    @Override
    public List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> socket() {
        return combo(serverSocket(), clientSocketWithFastOpen());
    }

    public List<BootstrapComboFactory<ServerBootstrap, Bootstrap>> socketWithoutFastOpen() {
        return combo(serverSocket(), clientSocket());
    }

    @Override
    public List<BootstrapFactory<ServerBootstrap>> serverSocket() {
        return List.of(@CLASS@::server, () -> server().option(ChannelOption.TCP_FASTOPEN, 5));
    }

    @Override
    public List<BootstrapFactory<Bootstrap>> clientSocket() {
        return List.of(@CLASS@::client);
    }

    @Override
    public List<BootstrapFactory<Bootstrap>> clientSocketWithFastOpen() {
        return List.of(@CLASS@::client, () -> client().option(ChannelOption.TCP_FASTOPEN_CONNECT, true));
    }

    private static ServerBootstrap server() {
        return new ServerBootstrap().group(JudgeLoops.servers()).channel(RdmaRawServerSocketChannel.class);
    }

    private static Bootstrap client() {
        return new Bootstrap().group(JudgeLoops.clients()).channel(RdmaRawSocketChannel.class);
    }

    @Override
    public List<BootstrapComboFactory<Bootstrap, Bootstrap>> datagram(SocketProtocolFamily family) {
        List<BootstrapFactory<Bootstrap>> ours = List.of(() -> new Bootstrap().group(JudgeLoops.servers())
                .channelFactory(() -> new RdmaRawDatagramChannel(family)));
        return combo(ours, ours);
    }

    List<BootstrapComboFactory<Bootstrap, Bootstrap>> epollOnlyDatagram(SocketProtocolFamily family) {
        return datagram(family);
    }

    @Override
    public List<BootstrapFactory<Bootstrap>> datagramSocket() {
        return List.of(() -> new Bootstrap().group(JudgeLoops.servers()).channel(RdmaRawDatagramChannel.class));
    }
}
