{
  description = "Remove duplicate packets from captures and live traffic";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      sources = {
        x86_64-linux = {
          url = "{{url "linux_amd64"}}";
          sha256 = "{{sum "linux_amd64"}}";
        };
        aarch64-linux = {
          url = "{{url "linux_arm64"}}";
          sha256 = "{{sum "linux_arm64"}}";
        };
        x86_64-darwin = {
          url = "{{url "darwin_amd64"}}";
          sha256 = "{{sum "darwin_amd64"}}";
        };
        aarch64-darwin = {
          url = "{{url "darwin_arm64"}}";
          sha256 = "{{sum "darwin_arm64"}}";
        };
      };
      flowdedup =
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        pkgs.stdenvNoCC.mkDerivation {
          pname = "flowdedup";
          version = "{{.Version}}";
          src = pkgs.fetchurl sources.${system};
          nativeBuildInputs = [ pkgs.installShellFiles ];
          installPhase = ''
            runHook preInstall
            install -Dm755 flowdedup $out/bin/flowdedup
            installManPage man/*
            installShellCompletion --cmd flowdedup \
              --bash completion/bash --zsh completion/zsh --fish completion/fish
            runHook postInstall
          '';
          meta = {
            description = "Remove duplicate packets from captures and live traffic";
            homepage = "{{.Homepage}}";
            license = nixpkgs.lib.licenses.asl20;
            mainProgram = "flowdedup";
            platforms = builtins.attrNames sources;
          };
        };
    in
    {
      packages = builtins.mapAttrs (system: _: {
        default = flowdedup system;
      }) sources;
    };
}
