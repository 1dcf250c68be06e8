package io.rdmaraw.tools.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Environment;
import picocli.CommandLine.IVersionProvider;

/** The output of {@code --version}, which lists the versions that a bug report needs. */
public final class Versions implements IVersionProvider {
    @Override
    public String[] getVersion() {
        ObjectNode versions = Environment.versions();
        ObjectNode machine = Environment.machine();
        return new String[] {
            "rdma-raw " + versions.get("rdmaRaw").asText(),
            "Netty " + versions.get("netty").asText(),
            "Java " + versions.get("java").asText() + " (" + versions.get("vm").asText() + ')',
            "Linux " + machine.get("kernel").asText() + " on " + machine.get("arch").asText() + ", "
                    + machine.get("os").asText(),
        };
    }
}
