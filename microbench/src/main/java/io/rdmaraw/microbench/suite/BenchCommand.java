package io.rdmaraw.microbench.suite;

import io.rdmaraw.microbench.frames.FramesCommand;
import io.rdmaraw.microbench.idle.IdleCommand;
import io.rdmaraw.microbench.profile.LoadCommand;
import io.rdmaraw.microbench.server.DnsCommand;
import io.rdmaraw.microbench.server.FrameworksCommand;
import io.rdmaraw.microbench.server.HttpCommand;
import io.rdmaraw.microbench.server.PolledClientCommand;
import io.rdmaraw.microbench.server.RedisCommand;
import io.rdmaraw.microbench.server.RivalsCommand;
import io.rdmaraw.microbench.server.WebSocketCommand;
import io.rdmaraw.microbench.tcp.TcpCommand;
import io.rdmaraw.microbench.tcp.TcpPeerCommand;
import io.rdmaraw.microbench.tcpcore.TcpCoreCommand;
import io.rdmaraw.microbench.udp.UdpCommand;
import io.rdmaraw.microbench.wire.WireCommand;
import io.rdmaraw.microbench.wire.WireServerCommand;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Implements {@code rdma-raw bench}. Its subcommands are the benches. */
@Command(name = "bench", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "BENCH",
        subcommands = {FramesCommand.class, WireCommand.class, WireServerCommand.class, UdpCommand.class,
                TcpCommand.class, TcpPeerCommand.class, TcpCoreCommand.class, IdleCommand.class, DnsCommand.class,
                HttpCommand.class, PolledClientCommand.class, RedisCommand.class, WebSocketCommand.class,
                FrameworksCommand.class, RivalsCommand.class, LoadCommand.class},
        description = "Runs a bench, which measures the transport and its rivals in the same run.")
public final class BenchCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        List<String> names = spec.subcommands().values().stream().map(CommandLine::getCommandSpec)
                .filter(bench -> !bench.usageMessage().hidden()).map(CommandSpec::name).toList();
        throw new ParameterException(spec.commandLine(), "which bench? there are: " + String.join(", ", names));
    }
}
