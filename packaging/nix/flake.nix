# Nix: `nix run ./packaging/nix -- init ~/notes`. uv installs gnod at the first start, with the wheels of the package index:
# nixpkgs lacks some of the packages that gnod needs.
# Tried: nix-instantiate --parse. Untried: a start, since there is no release yet.
{
  description = "Local knowledge search: keyword, meaning and answers, nothing leaves the machine";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { nixpkgs, ... }:
    let
      version = "0.1.0";
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      programFor =
        pkgs:
        pkgs.writeShellApplication {
          name = "gnoctl";
          runtimeInputs = [ pkgs.uv ];
          text = ''
            export LD_LIBRARY_PATH=${pkgs.lib.makeLibraryPath [ pkgs.stdenv.cc.cc.lib pkgs.zlib ]}
            exec uv tool run --python ${pkgs.python313}/bin/python3 --from gnod==${version} gnoctl "$@"
          '';
        };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = programFor nixpkgs.legacyPackages.${system};
      });
    };
}
