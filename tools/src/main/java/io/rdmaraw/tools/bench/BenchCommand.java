package io.rdmaraw.tools.bench;

import io.rdmaraw.tools.bench.server.DnsCommand;
import io.rdmaraw.tools.bench.server.HttpCommand;
import io.rdmaraw.tools.bench.wire.WireCommand;
import io.rdmaraw.tools.bench.wire.WireServerCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code rdma-raw bench}. */
@Command(name = "bench", mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "frames | wire | udp | tcp-core | dns | http",
        subcommands = {FramesCommand.class, WireCommand.class, WireServerCommand.class, UdpCommand.class,
                TcpCoreCommand.class, DnsCommand.class, HttpCommand.class},
        description = "Measures, with what it compares to beside it in the same run.")
public final class BenchCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
                "which bench? there are: frames, wire, udp, tcp-core, dns, http");
    }
}
