"""A header that the compiler parses once for the whole tree, instead of once for each source."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _compile_command(ctx, toolchain, context, header, output):
    """Returns the command that precompiles `header` with the flags of a source in this configuration.

    GCC uses a precompiled header only if it was compiled with the same flags as the source.
    """
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features + ["module_maps"],
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
        quote_include_directories = context.quote_includes,
        include_directories = context.includes,
        system_include_directories = context.system_includes,
        use_pic = False,
    )
    action = "c++-compile"
    return struct(
        compiler = cc_common.get_tool_for_action(feature_configuration = features, action_name = action),
        flags = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ) + ["-x", "c++-header", "-c", header.path, "-o", output.path],
        environment = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
    )

def _precompiled_header_impl(ctx):
    # Both are generated, so that no directory of the compiler's search path contains the header without its compiled
    # form.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "".join(["#include {}\n".format(name) for name in ctx.attr.headers]))

    toolchain = find_cpp_toolchain(ctx)
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    command = _compile_command(ctx, toolchain, context, header, compiled)
    ctx.actions.run(
        executable = command.compiler,
        arguments = command.flags,
        env = command.environment,
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "PrecompileHeader",
        progress_message = "Precompiling " + header.short_path,
    )
    return [
        DefaultInfo(files = depset([header, compiled])),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([header, compiled]))),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "NAME.h, which includes `headers`, and its precompiled form. Sources use it with `-include`.",
    attrs = {
        "copts": attr.string_list(doc = "the copts of the targets that use it"),
        "deps": attr.label_list(providers = [CcInfo]),
        "headers": attr.string_list(mandatory = True, doc = "written as after #include, with quotes or brackets"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
